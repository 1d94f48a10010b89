/**
 * Token files and basic-auth files, in kube-apiserver's format as extended by Arktos: secret, user name,
 * uid, groups; the last column is the tenant if the column before it is empty. Ambiguous lines and lines
 * without a tenant are refused, unless the operator assigns those without one to the system tenant.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
 */
import { CsvError, parse } from 'csv-parse/sync';
import type { StaticPassword, StaticToken, StaticUser, StoredPassword } from '../identity/static-files.ts';
import { isOneTenant, RESERVED_PREFIXES, reservedPrefixOf } from '../kubernetes/reserved-names.ts';
import { isPrintable } from '../lib/untrusted-text.ts';
import type { TenancyFacts } from '../tenancy/facts.ts';
import { FERNET_START } from '../tenancy/keystone-v3.ts';
import { qualifiedNames } from '../tenancy/user-name.ts';
import type { CoreConfiguration, StaticFileConfiguration } from './core-configuration.ts';
import type { Finding } from './problem.ts';

export interface StaticUserRules {
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  /** The tenancy mode's facts decide whether names and groups contain the tenant. */
  readonly facts: Pick<TenancyFacts, 'readsTenantFromName'>;
  /** The tenant of lines without one; undefined: such lines are refused. */
  readonly tenantOfOthers: string | undefined;
}

export interface StaticUsers<T> {
  readonly entries: readonly T[];
  /** Each with its line number. */
  readonly problems: readonly string[];
}

/** The users of all files that the configuration names. */
export function staticUsersOf(
  { authentication, tenancy }: Pick<CoreConfiguration, 'authentication' | 'tenancy'>,
  content: (file: string) => Buffer | undefined,
) {
  const { tokenFile, basicAuthFile } = authentication;
  const rules = ({ systemTenantByDefault, ...prefixes }: StaticFileConfiguration): StaticUserRules => ({
    ...prefixes,
    facts: tenancy.facts,
    tenantOfOthers: systemTenantByDefault ? tenancy.systemTenant : undefined,
  });
  const tokens = tokenFile && content(tokenFile.file);
  const passwords = basicAuthFile && content(basicAuthFile.file);
  return {
    ...(tokens && { tokenFile: parseTokenFile(tokens, rules(tokenFile)) }),
    ...(passwords && { basicAuthFile: parseBasicAuthFile(passwords, rules(basicAuthFile)) }),
  };
}

export function checkStaticUsers(
  configuration: CoreConfiguration,
  content: (file: string) => Buffer | undefined,
): Finding[] {
  return Object.entries(staticUsersOf(configuration, content)).flatMap(([key, { problems }]) =>
    problems.map((message) => ({ path: ['authentication', key, 'file'], message })),
  );
}

interface NumberedLine {
  readonly number: number;
  readonly columns: readonly string[];
}

/** Characters that can be sent after `Bearer `. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export function parseTokenFile(content: Buffer, rules: StaticUserRules): StaticUsers<StaticToken> {
  const seen = new Set<string>();
  return usersOf(content, rules, (token, user) => {
    if (!TOKEN.test(token)) return LINE_PROBLEMS.badToken;
    if (token.startsWith(FERNET_START)) return LINE_PROBLEMS.keystoneToken;
    if (seen.has(token)) return LINE_PROBLEMS.sameToken;
    seen.add(token);
    return { token, user };
  });
}

export function parseBasicAuthFile(content: Buffer, rules: StaticUserRules): StaticUsers<StaticPassword> {
  const seen = new Set<string>();
  return usersOf(content, rules, (text, user, login) => {
    if (login.includes(':')) return LINE_PROBLEMS.colon;
    const password = storedPassword(text);
    if (typeof password === 'string') return password;
    if (seen.has(login)) return LINE_PROBLEMS.sameName;
    seen.add(login);
    return { login, password, user };
  });
}

/** @param entryOf returns the problem if the entry is invalid */
function usersOf<T extends object>(
  content: Buffer,
  rules: StaticUserRules,
  entryOf: (secret: string, user: StaticUser, login: string) => T | LineProblem,
): StaticUsers<T> {
  const lines = linesOf(content);
  if (typeof lines === 'string') return { entries: [], problems: [lines] };
  const entries: T[] = [];
  const problems: string[] = [];
  for (const { number, columns } of lines) {
    const [secret = '', login = ''] = columns;
    const user = userOf(columns, rules);
    const entry = typeof user === 'string' ? user : entryOf(secret, user, login);
    if (typeof entry !== 'string') entries.push(entry);
    else problems.push(`line ${number}: ${entry}`);
  }
  return { entries, problems };
}

function linesOf(content: Buffer): NumberedLine[] | string {
  try {
    const lines: NumberedLine[] = [];
    parse(content, {
      bom: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      on_record: (columns: string[], context) => {
        lines.push({ number: context.lines, columns });
        return null;
      },
    });
    return lines;
  } catch (error) {
    // The error's message would repeat a part of the line.
    if (error instanceof CsvError)
      return `expected comma-separated values, found ${error.code} by line ${String(error.lines)}`;
    throw error;
  }
}

function userOf(columns: readonly string[], rules: StaticUserRules): StaticUser | LineProblem {
  if (columns.length < 3) return LINE_PROBLEMS.tooShort;
  const [, login = '', uid = '', groupList = ''] = columns;
  const tenant = tenantOf(columns, rules);
  if (typeof tenant === 'string') return tenant;
  const { usernamePrefix, groupsPrefix, facts } = rules;
  const groups = groupList.split(',').filter((group) => group !== '');
  const user = { usernamePrefix, groupsPrefix, tenant: tenant.name, name: login, groups, uid };
  const named = qualifiedNames(user, tenant.name, facts);
  const unfit = [login, ...(uid === '' ? [] : [uid]), ...named.groups].find((text) => !isPrintable(text));
  if (unfit !== undefined) return LINE_PROBLEMS.unprintable;
  if ([named.name, ...named.groups].some((text) => reservedPrefixOf(text) !== undefined))
    return LINE_PROBLEMS.reserved;
  return user;
}

function tenantOf(
  columns: readonly string[],
  { tenantOfOthers }: StaticUserRules,
): { readonly name: string } | LineProblem {
  const last = columns.at(-1) ?? '';
  const before = columns.at(-2);
  // Arktos reads such a column as a group and as the tenant.
  if (columns.length === 4 && before === '' && last !== '') return LINE_PROBLEMS.noTenant;
  if (columns.length < 5 || before !== '')
    return tenantOfOthers === undefined ? LINE_PROBLEMS.noTenant : { name: tenantOfOthers };
  if (!isOneTenant(last)) return LINE_PROBLEMS.badTenant;
  return { name: last };
}

/** 2^17 rounds take about ten seconds. */
const MAX_BCRYPT_COST = 17;

const [SYSTEM, KEYSTONE, STONEGATE] = RESERVED_PREFIXES;

/**
 * All messages about a line. They contain nothing of the line, not even the user name: if a password
 * contains an unquoted comma, the column that seems to be the name is a part of the password. The type
 * `LineProblem` enforces this.
 */
const LINE_PROBLEMS = {
  tooShort: 'expected at least secret, user name and uid',
  unprintable:
    'expected names without control characters and without spaces at their ends, and a user name (a secret with a comma in it needs quotation marks)',
  reserved: `expected names that do not begin with ${SYSTEM}, ${KEYSTONE} or ${STONEGATE}, which are reserved`,
  noTenant:
    'expected a tenant in the last column, with an empty column before it (secret,user,uid,"groups",,tenant)',
  badTenant: 'expected a tenant name in the last column: a DNS-1123 label other than "all"',
  sameToken: 'expected a token of its own, found that of an earlier line',
  sameName:
    'expected a name of its own, found that of an earlier line: the name alone says who logs in, in all tenants',
  badToken: 'expected a token of visible ASCII characters',
  keystoneToken: 'expected a token that does not look like one of Keystone',
  colon: 'expected a user name without ":", which HTTP\'s basic scheme cannot send',
  noPassword: 'expected a password, found none',
  bcryptCost: `expected a bcrypt cost from 4 to ${MAX_BCRYPT_COST}`,
  unknownHash: 'expected a password or a bcrypt hash ($2b$…), found a hash of another kind, or a broken one',
} as const;

export type LineProblem = (typeof LINE_PROBLEMS)[keyof typeof LINE_PROBLEMS];

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
/**
 * The form of other hashes, `$6$…` or `{SHA}…`. They are refused: as a password, the hash itself would
 * log in.
 */
const HASH = /^(?:\$[A-Za-z0-9-]+\$|\{[A-Za-z0-9-]+\})/;

function storedPassword(text: string): StoredPassword | LineProblem {
  if (text === '') return LINE_PROBLEMS.noPassword;
  const bcrypt = BCRYPT.exec(text);
  if (bcrypt !== null) {
    const cost = Number(bcrypt[1]);
    if (cost < 4 || cost > MAX_BCRYPT_COST) return LINE_PROBLEMS.bcryptCost;
    return { kind: 'bcrypt', hash: text };
  }
  if (HASH.test(text)) return LINE_PROBLEMS.unknownHash;
  return { kind: 'plain', password: text };
}
