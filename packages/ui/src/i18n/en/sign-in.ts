export const signIn = {
  againHeading: "Sign in again",
  againHint:
    "This browser was signed out: its session ended, the admin token was changed, or you signed out in another tab. This page stays as it is, with what you typed.",
  heading: "Sign in to Keywheel",
  leave: "Leave this page",
  linkSpent: "This sign-in link was used already, or is older than 15 minutes.",
  linkSpentHint: "Restart the gateway for a new link, or sign in with the admin token.",
  submit: "Sign in",
  token: "Admin token",
  tokenHint: "Printed when the gateway started for the first time, or set with KEYWHEEL_ADMIN_TOKEN.",
  tokenMissing: "Enter the admin token.",
  tokenWrong: "The admin token is wrong.",
} as const;
