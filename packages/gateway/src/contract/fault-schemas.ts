import { z } from "@hono/zod-openapi";
import { fieldFaults } from "./field-faults.ts";

export const fieldFaultSchema = z.enum(fieldFaults).openapi("FieldFault", {
  description: "What is wrong with a field, for programs that say it in words of their own.",
});

export const faultParamsSchema = z.record(z.string(), z.number()).openapi({
  description: "Numbers that belong to the code: `min`, `max`, `length`, `line`, or `at`, a position from 1.",
});
