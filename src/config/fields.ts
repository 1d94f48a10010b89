/**
 * Field types of the configuration's schema, file names and secret sources included. Every `error` text
 * continues "expected …".
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ (RFC 1123 labels)
 */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { SecretSource } from '../api/config-v1alpha1.ts';
import { parseDuration } from '../lib/kubernetes-time.ts';

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

/** Text without control characters and without surrounding blanks. */
export const text = z
  .string()
  .min(1, { error: 'text that is not empty' })
  .refine((value) => value === value.trim() && !/\p{Cc}/u.test(value), {
    error: 'text without control characters and without blanks at its ends',
  });

/** May be empty. */
export const prefix = z.string().refine((value) => !/[\p{Cc}\s]/u.test(value), {
  error: 'a prefix without blanks and control characters',
});

/** `-` means none, as in kube-apiserver's flags. */
export const prefixOrNone = prefix.transform((given) => (given === '-' ? '' : given));

/** A path as in a request line, compared exactly. */
export const requestPath = z.string().regex(/^\/[^?#\s]*$/, { error: 'a path such as /healthz' });

const LABEL =
  'a DNS-1123 label (lower-case letters, digits and "-", which stands neither first nor last; at most 63 characters)';

/**
 * A name that is used in URLs without escaping.
 *
 * @param missing the expectation reported if the name is absent
 */
export function label({ missing }: { readonly missing: string }) {
  return dnsLabel(LABEL, missing);
}

export const TENANT_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

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
  burst: z.int().min(1).describe('Requests allowed at once.'),
});

const ENVIRONMENT_VARIABLE = 'the name of an environment variable';

const environmentVariable = z
  .string({ error: ENVIRONMENT_VARIABLE })
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, { error: ENVIRONMENT_VARIABLE });

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
        parsed.protocol === 'https:' ||
        (loopback && parsed.protocol === 'http:' && isLoopback(parsed.hostname));
      const bare = parsed.username === '' && parsed.password === '' && !/[?#\s]/.test(value);
      return secure && bare && path.test(parsed.pathname);
    },
    {
      error: `${what} (${loopback ? 'http only on loopback; ' : ''}no credentials, query or fragment in it)`,
    },
  );
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.parse(host).range() === 'loopback');
}

/**
 * An issue for a mapping that has none of its allowed forms. It lists the keys found, so that the missing
 * one shows.
 *
 * @param forms such as `{ value } or { claim, map }`
 * @param given the mapping found; all its keys are known, so none of them can be a misplaced secret
 * @returns a zod issue; `params.found` follows the word "found" in the message
 */
export function formIssue(forms: string, given: object) {
  const keys = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const found = keys.length === 0 ? 'an empty mapping' : `{ ${keys.join(', ')} }`;
  return { code: 'custom' as const, message: forms, params: { found } };
}

/** A file name. `resolve` makes it absolute, relative to the folder of the configuration file. */
export function fileField(resolve: (name: string) => string) {
  return z
    .string()
    .min(1, { error: "a file's name" })
    .refine((name) => !/\p{Cc}/u.test(name), { error: "a file's name, not its contents" })
    .transform(resolve);
}

export type FileField = ReturnType<typeof fileField>;

const EXPECTED = 'exactly one of { fromFile: … } and { fromEnv: … }';

/**
 * A secret is never in the configuration file itself, because such files end up in version control and
 * tickets.
 */
export function secretSource(file: FileField) {
  return z
    .strictObject(
      {
        fromFile: file.exactOptional().describe('A file that contains it; a final line break is ignored.'),
        fromEnv: environmentVariable.exactOptional().describe('An environment variable that contains it.'),
      },
      { error: (issue) => (issue.code === 'invalid_type' ? EXPECTED : undefined) },
    )
    .transform(({ fromFile, fromEnv }, context): SecretSource => {
      if (fromFile !== undefined && fromEnv === undefined) return { fromFile };
      if (fromEnv !== undefined && fromFile === undefined) return { fromEnv };
      context.addIssue({ code: 'custom', message: EXPECTED });
      return z.NEVER;
    });
}

/** Stonegate's credential for the API server. */
export function upstreamCredential(file: FileField) {
  return z
    .strictObject({
      tokenFile: file.exactOptional().describe('A bearer token.'),
      certFile: file.exactOptional().describe('A client certificate, PEM; with `keyFile`.'),
      keyFile: file.exactOptional().describe('Its private key, PEM.'),
    })
    .transform(({ tokenFile, certFile, keyFile }, context) => {
      if (tokenFile !== undefined && certFile === undefined && keyFile === undefined) return { tokenFile };
      if (tokenFile === undefined && certFile !== undefined && keyFile !== undefined) {
        return { certFile, keyFile };
      }
      context.addIssue({ code: 'custom', message: 'either tokenFile, or certFile and keyFile' });
      return z.NEVER;
    });
}

/** RFC 3339, in milliseconds since the epoch. */
export const instant = z.iso
  .datetime({ offset: true, error: 'a time in RFC 3339, such as 2027-03-31T00:00:00Z' })
  .transform((given) => Date.parse(given));
