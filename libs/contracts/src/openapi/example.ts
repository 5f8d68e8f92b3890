import type { z } from "zod";

/** A request body and an answer that an operation's schemas accept. */
export type Example<O> = (O extends { body: infer B extends z.ZodType } ? { readonly body: z.input<B> } : unknown) &
  (O extends { answer: infer A extends z.ZodType } ? { readonly answer: z.input<A> } : unknown);
