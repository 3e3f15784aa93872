import { avalanche } from "../../rules/fingerprint.ts";

/** Where hashes start. */
export const highSeed: number = 0x9e3779b9 | 0;
export const lowSeed: number = 0x7f4a7c15;

/** A 64-bit hash of hashes, as two 32-bit integers. */
export class Lanes {
  high: number = highSeed;
  low: number = lowSeed;

  /** Begins anew. @param kind keeps hashes of different kinds of things apart; any 32-bit integer */
  begin(kind: number): this {
    this.high = highSeed ^ kind;
    this.low = lowSeed;
    return this;
  }

  /** Adds what comes next: the order counts. */
  follow(high: number, low: number): void {
    const a = avalanche(Math.imul(this.high, 0x2c1b3c6d) ^ high);
    const b = avalanche(((Math.imul(this.low, 0x297a2d39) ^ low) + a) | 0);
    this.high = (a + this.low) | 0;
    this.low = b;
  }

  /** Adds a field, in whatever order fields come. */
  addField(nameHigh: number, nameLow: number, high: number, low: number): void {
    const a = avalanche(((nameHigh ^ Math.imul(high, 0x85ebca6b)) + low) | 0);
    const b = avalanche(((nameLow ^ Math.imul(low, 0x297a2d39)) + a) | 0);
    this.high = (this.high + a) | 0;
    this.low = (this.low + b) | 0;
  }
}
