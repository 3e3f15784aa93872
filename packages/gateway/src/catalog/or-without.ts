import { isKeywheelError } from "@keywheel/pool";

/**
 * What `read` gives, or `fallback` where the database cannot read it: what is only of use must not keep a gateway from
 * serving.
 *
 * @throws whatever else `read` fails with
 */
export async function orWithout<T>(
  fallback: T,
  read: () => Promise<T>,
  { onTrouble }: { readonly onTrouble: (error: unknown) => void },
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isKeywheelError(error) || error.code !== "store_unavailable") throw error;
    onTrouble(error);
    return fallback;
  }
}
