import { chatPath, clientToken, type Contender } from "../contender.ts";

/** The upstream itself on the contender's core: what there is without a gateway. @param program the compiled upstream */
export function direct(program: () => string): Contender {
  return {
    name: "direct",
    title: "no gateway",
    setups: ["plain"],
    version: () => "",
    async prepare(_setup, { freePort }) {
      const port = await freePort();
      return { command: [program(), String(port)], port, path: chatPath, token: clientToken, headers: [] };
    },
  };
}
