/**
 * Token files and basic-auth files, in the format of kube-apiserver as Arktos has extended it: comma-separated, the
 * secret first, then user name, uid and groups. The last column is the tenant, but only where the column before it is
 * empty; `tok,user,uid,T` is a group T of the system tenant there. So a line that says no tenant is refused by name
 * unless the operator has written down that such lines are the system tenant's, and so is one that can be read twice.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
 */
import { CsvError, parse } from 'csv-parse/sync';
import type { StaticFileConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { StaticPassword, StaticToken, StaticUser } from '../api/credentials.ts';
import { FERNET_START } from '../api/keystone-v3.ts';
import { reservedPrefixOf } from '../api/reserved-names.ts';
import { isPrintable } from '../lib/printable-text.ts';
import { TENANT_NAME } from './fields.ts';
import { LINE_PROBLEMS as LINE, type LineProblem } from './line-problem.ts';
import { storedPassword } from './stored-password.ts';

export interface StaticUserRules {
  readonly usernamePrefix: string;
  readonly groupsPrefix: string;
  /**
   * Whether names and groups carry the tenant: people of two tenants may be called alike, and not every tenancy mode
   * keeps tenants apart by itself.
   */
  readonly tenantInNames: boolean;
  /** Of lines that say none; without it they are refused. */
  readonly tenantOfOthers: string | undefined;
}

export interface StaticUsers<T> {
  readonly entries: readonly T[];
  /** What is wrong, each with its line. */
  readonly problems: readonly string[];
}

/** Everybody of the files that the configuration names. */
export function staticUsersOf(
  { authentication, tenancy }: Pick<StonegateConfiguration, 'authentication' | 'tenancy'>,
  content: (file: string) => Buffer | undefined,
) {
  const { tokenFile, basicAuthFile } = authentication;
  const rules = ({ systemTenantByDefault, ...prefixes }: StaticFileConfiguration): StaticUserRules => ({
    ...prefixes,
    tenantInNames: tenancy.mode === 'shared',
    tenantOfOthers: systemTenantByDefault ? tenancy.systemTenant : undefined,
  });
  const tokens = tokenFile && content(tokenFile.file);
  const passwords = basicAuthFile && content(basicAuthFile.file);
  return {
    ...(tokens && { tokenFile: parseTokenFile(tokens, rules(tokenFile)) }),
    ...(passwords && { basicAuthFile: parseBasicAuthFile(passwords, rules(basicAuthFile)) }),
  };
}

interface Line {
  readonly number: number;
  readonly columns: readonly string[];
}

/** Whole in a header behind `Bearer `. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export function parseTokenFile(content: Buffer, rules: StaticUserRules): StaticUsers<StaticToken> {
  const seen = new Map<string, number>();
  return usersOf(content, rules, (token, user, _login, line) => {
    if (!TOKEN.test(token)) return LINE.badToken;
    if (token.startsWith(FERNET_START)) return LINE.keystoneToken;
    const twin = seen.get(token);
    if (twin !== undefined) return `expected a token of its own, found the one of line ${twin}`;
    seen.set(token, line);
    return { token, user };
  });
}

export function parseBasicAuthFile(content: Buffer, rules: StaticUserRules): StaticUsers<StaticPassword> {
  const seen = new Map<string, number>();
  return usersOf(content, rules, (text, user, login, line) => {
    if (login.includes(':')) return LINE.colon;
    const password = storedPassword(text);
    if (typeof password === 'string') return password;
    const twin = seen.get(login);
    if (twin !== undefined) {
      return `expected a name of its own, found the one of line ${twin}: the name alone says who logs in, in all tenants`;
    }
    seen.set(login, line);
    return { login, password, user };
  });
}

/** @param entryOf returns what is wrong, where something is */
function usersOf<T extends object>(
  content: Buffer,
  rules: StaticUserRules,
  entryOf: (secret: string, user: StaticUser, login: string, line: number) => T | LineProblem,
): StaticUsers<T> {
  const lines = linesOf(content);
  if (typeof lines === 'string') return { entries: [], problems: [lines] };
  const entries: T[] = [];
  const problems: string[] = [];
  for (const { number, columns } of lines) {
    const [secret = '', login = ''] = columns;
    const user = userOf(columns, rules);
    const entry = typeof user === 'string' ? user : entryOf(secret, user, login, number);
    if (typeof entry !== 'string') entries.push(entry);
    else problems.push(`line ${number}: ${entry}`);
  }
  return { entries, problems };
}

function linesOf(content: Buffer): Line[] | string {
  try {
    const lines: Line[] = [];
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
    // Its message would repeat a part of the line.
    if (error instanceof CsvError)
      return `expected comma-separated values, found ${error.code} by line ${String(error.lines)}`;
    throw error;
  }
}

function userOf(columns: readonly string[], rules: StaticUserRules): StaticUser | LineProblem {
  if (columns.length < 3) return LINE.tooShort;
  const [, login = '', uid = '', groupList = ''] = columns;
  const tenant = tenantOf(columns, rules);
  if (typeof tenant === 'string') return tenant;
  const within = rules.tenantInNames ? `${tenant.name}:` : '';
  const name = `${rules.usernamePrefix}${within}${login}`;
  const groups = groupList
    .split(',')
    .filter((group) => group !== '')
    .map((group) => `${rules.groupsPrefix}${within}${group}`);
  const unfit = [login, ...(uid === '' ? [] : [uid]), ...groups].find((text) => !isPrintable(text));
  if (unfit !== undefined) return LINE.unprintable;
  if ([name, ...groups].some((text) => reservedPrefixOf(text) !== undefined)) return LINE.reserved;
  return { name, uid, groups: [...new Set(groups)], tenant: tenant.name };
}

function tenantOf(
  columns: readonly string[],
  { tenantOfOthers }: StaticUserRules,
): { readonly name: string } | LineProblem {
  const last = columns.at(-1) ?? '';
  const before = columns.at(-2);
  if (columns.length === 4 && before === '' && last !== '') {
    return LINE.groupOrTenant;
  }
  if (columns.length < 5 || before !== '') {
    if (tenantOfOthers !== undefined) return { name: tenantOfOthers };
    return columns.length === 4 && last !== '' ? LINE.onlyGroups : LINE.noTenant;
  }
  if (!TENANT_NAME.test(last)) return LINE.badTenant;
  if (last === 'all') return LINE.everyTenant;
  return { name: last };
}
