// The parts of the gateway that may be used on their own: none yet.
export {};
