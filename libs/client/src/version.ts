/** Version of this package. `version.test.ts` compares it with package.json. */
export const VERSION = "0.1.0";
