import { MemoryState } from "./packed-state.ts";
import { SharedView } from "./shared-view.ts";

/** The local part of a state that several processes share: in memory, with a view for what the others did. */
export class ViewedState extends MemoryState {
  readonly view: SharedView = new SharedView(this.parts);
}
