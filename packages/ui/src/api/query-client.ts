import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { isApiError, isSignedOut } from "./problem.ts";
import { signInGate } from "./sign-in-gate.ts";

/**
 * Answers of the API, kept while pages show them.
 *
 * @param onSignedOut called when any call finds the browser signed out, and nobody signed in again
 */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: Error): void => {
    // While a sign-in is asked for, only a wrong token can be what is refused.
    if (isSignedOut(error) && !signInGate.isAsking) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // Events say when something is out of date; coming back to a page need not ask again within this time.
        staleTime: 15_000,
        retry: (failures, error) => failures < 2 && isApiError(error) && (error.status === 0 || error.status >= 500),
      },
    },
  });
}
