import type { Connection } from "../connection.ts";
import { ApiClient } from "./api-client.ts";
export async function connect(connection: Connection): Promise<ApiClient> {
  throw new Error(String(connection));
}
