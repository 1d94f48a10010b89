/**
 * Field types of the configuration's schema. Every `error` text continues "expected …".
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ (RFC 1123 labels)
 */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { parseDuration } from './go-time.ts';
import { isLoopback } from './transport-security.ts';

/** The output type of a schema, deeply read-only: a configuration is never changed. */
export type Output<S extends z.ZodType> = Immutable<z.output<S>>;
type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

/** True or false. */
export const toggle = (description: string, byDefault = false) =>
  z.boolean().default(byDefault).describe(description);

const DURATION = 'a duration such as 60s, 1m30s or 250ms';

/** Parsed to milliseconds. */
export const duration = z
  .string({ error: DURATION })
  .refine((text) => parseDuration(text) !== undefined, { error: DURATION })
  .transform((text) => parseDuration(text) ?? 0);

/** A duration that must not be zero. */
export const period = duration.refine((milliseconds) => milliseconds > 0, {
  error: 'a duration longer than zero',
});

export const count = z.int().min(1);

/** Text without control characters and without surrounding blanks. */
export const text = z
  .string()
  .min(1, { error: 'text that is not empty' })
  .refine((value) => value === value.trim() && !/\p{Cc}/u.test(value), {
    error: 'text without control characters and without spaces at its ends',
  });

/** May be empty. */
export const prefix = z.string().refine((value) => !/[\p{Cc}\s]/u.test(value), {
  error: 'a prefix without spaces and control characters',
});

/** `-` means none, as in kube-apiserver's flags. */
export const prefixOrNone = prefix.transform((given) => (given === '-' ? '' : given));

/** A path as in a request line, compared exactly. */
export const requestPath = z.string().regex(/^\/[^?#\s]*$/, { error: 'a path such as /healthz' });

const LABEL =
  'a DNS-1123 label (lower-case letters, digits and "-", which is neither first nor last; at most 63 characters)';

/**
 * A name that is used in URLs without escaping.
 *
 * @param missing the expectation reported if the name is absent
 */
export function label({ missing }: { readonly missing: string }) {
  return dnsLabel(LABEL, missing);
}

export const tenant = dnsLabel(`a tenant name: ${LABEL}`);

/** The length is a separate rule, so that its message can state the length found. */
function dnsLabel(what: string, missing?: string) {
  return z
    .string({ error: ({ input }) => (input === undefined ? missing : undefined) })
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, { error: what, abort: true })
    .max(63, { error: what });
}

const BIND = 'HOST:PORT, such as 0.0.0.0:8443 or [::]:8443';

export const bind = z.string({ error: BIND }).refine(
  (value) => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(value) ?? [];
    if (port === undefined || Number(port) > 65_535) return false;
    return bracketed === undefined ? plain !== undefined : ipaddr.IPv6.isValid(bracketed);
  },
  { error: BIND },
);

/** An address range. The whole Internet is refused, because then any client could forge its address. */
export const cidr = z.string().refine(
  (value) => {
    if (!ipaddr.isValidCIDR(value)) return false;
    const [, bits] = ipaddr.parseCIDR(value);
    return bits > 0;
  },
  { error: 'a CIDR such as 10.0.0.0/8, and not every address there is' },
);

export const rate = z.strictObject({
  perSecond: z.number().positive({ error: 'a number above 0' }).describe('Sustained rate per second.'),
  burst: count.describe('Requests allowed at once.'),
});

interface URLRules {
  /** The purpose of the URL, with an example. */
  readonly what: string;
  /** Must match the path. */
  readonly path: RegExp;
  /** Whether http is allowed on loopback. */
  readonly loopback?: boolean;
}

/** An https URL; http only on loopback, because credentials are sent to it. */
export function url({ what, path, loopback = true }: URLRules) {
  return z.string({ error: what }).refine(
    (value) => {
      if (!URL.canParse(value)) return false;
      const parsed = new URL(value);
      const secure =
        parsed.protocol === 'https:' || (loopback && parsed.protocol === 'http:' && isLoopback(parsed));
      const bare = parsed.username === '' && parsed.password === '' && !/[?#\s]/.test(value);
      return secure && bare && path.test(parsed.pathname);
    },
    {
      error: `${what} (${loopback ? 'http only on loopback; ' : ''}no credentials, query or fragment in it)`,
    },
  );
}

/**
 * Marks a refinement whose message is not about the value that was found.
 *
 * @param message follows the field's path
 * @param path of the field at which it is reported
 */
export function sentence(message: string, ...path: readonly string[]) {
  return { error: message, path: [...path], params: { isSentence: true } };
}

/**
 * A refinement that says what is wrong with a text.
 *
 * @param message continues "expected"
 * @param problemOf continues "which"; undefined if the text is good
 */
export function checked(message: string, problemOf: (value: string) => string | undefined) {
  return (value: string, context: z.core.$RefinementCtx<string>) => {
    const problem = problemOf(value);
    if (problem === undefined) return;
    const params = { found: `${JSON.stringify(value)}, which ${problem}` };
    context.addIssue({ code: 'custom', message, params });
  };
}

/**
 * A refinement that refuses a list of which two items have the same key.
 *
 * @param message continues "expected"
 * @param keyOf what must differ; undefined for an item that has no key
 * @param path of the key within an item
 */
export function unique<T>(
  message: string,
  keyOf: (item: T) => string | undefined,
  ...path: readonly string[]
) {
  return (items: readonly T[], context: z.core.$RefinementCtx<readonly T[]>) => {
    const keys = items.map(keyOf);
    for (const [at, key] of keys.entries())
      if (key !== undefined && keys.indexOf(key) < at)
        context.addIssue({
          code: 'custom',
          message,
          path: [at, ...path],
          params: { found: `${key} again` },
        });
  };
}
