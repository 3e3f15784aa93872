export const common = {
  cancel: "Cancel",
  close: "Close",
  confirm: "Confirm",
  copied: "Copied",
  copy: "Copy",
  delete: "Delete",
  retry: "Try again",
  save: "Save",
  showHide: "Show or hide",
} as const;
