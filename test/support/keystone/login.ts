/**
 * `POST /v3/auth/tokens` of the stand-in Keystone: password, application credential, and token, which
 * exchanges an existing token for another scope.
 */
import type { Directory, Target, User } from './directory.ts';
import type { TokenRecord, TokenStore } from './tokens.ts';

export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws Refusal */
export function login(directory: Directory, tokens: TokenStore, body: unknown): TokenRecord {
  const { auth } = fields(body);
  if (auth === undefined) throw new Refusal(400, 'Expecting to find auth in request body.');
  const { identity, scope } = fields(auth);
  const { methods, ...given } = fields(identity);
  const method = Array.isArray(methods) && methods.length === 1 ? methods[0] : undefined;
  const record = byMethod(directory, tokens, method, fields(given[String(method)]), scope);
  const state = tokens.stateOf(record);
  if (state === 'alive') return record;
  record.revoked = true;
  throw unauthorized();
}

function byMethod(
  directory: Directory,
  tokens: TokenStore,
  method: unknown,
  given: Fields,
  scope: unknown,
): TokenRecord {
  switch (method) {
    case 'password': {
      const asked = fields(given.user);
      const user = findUser(directory, asked);
      if (user === undefined || asked.password !== user.password) throw unauthorized();
      return tokens.issue(user, findScope(directory, scope));
    }
    case 'application_credential': {
      const credential = directory.applicationCredentials.find((each) => each.id === given.id);
      if (!credential || credential.deleted) throw new Refusal(404, 'Could not find Application Credential.');
      if (credential.secret !== given.secret || scope !== undefined) throw unauthorized();
      const options = { methods: ['application_credential'], applicationCredential: credential };
      return tokens.issue(credential.user, { project: credential.project }, options);
    }
    case 'token':
      return rescope(directory, tokens, tokens.find(String(given.id)), scope);
    default:
      throw new Refusal(401, 'Attempted to authenticate with an unsupported method.');
  }
}

function rescope(
  directory: Directory,
  tokens: TokenStore,
  parent: TokenRecord | undefined,
  scope: unknown,
): TokenRecord {
  if (parent === undefined || tokens.stateOf(parent) !== 'alive')
    throw new Refusal(404, 'Failed to validate token');
  const target = findScope(directory, scope);
  const fromSystem = parent.scope !== undefined && 'system' in parent.scope;
  if (parent.applicationCredential || parent.trust || (fromSystem && target && !('system' in target)))
    throw new Refusal(403, 'You are not authorized to perform the requested action.');
  const methods = [...new Set([...parent.methods, 'token'])];
  return tokens.issue(parent.user, target, { methods, parent });
}

function findScope(directory: Directory, scope: unknown): Target | undefined {
  if (scope === undefined || scope === 'unscoped') return undefined;
  const asked = fields(scope);
  if (asked.system !== undefined) return { system: true };
  if (asked.domain !== undefined) {
    const domain = directory.domains.find(matches(fields(asked.domain)));
    if (domain) return { domain };
  } else {
    const wanted = fields(asked.project);
    const project = directory.projects.find((each) => matches(wanted)(each) && inDomain(wanted, each.domain));
    if (project) return { project };
  }
  throw unauthorized();
}

function findUser(directory: Directory, asked: Fields): User | undefined {
  return directory.users.find((each) => matches(asked)(each) && inDomain(asked, each.domain));
}

function matches(asked: Fields): (each: { readonly id: string; readonly name: string }) => boolean {
  return (each) => (asked.id === undefined ? asked.name === each.name : asked.id === each.id);
}

function inDomain(asked: Fields, domain: { readonly id: string; readonly name: string }) {
  return asked.id !== undefined || matches(fields(asked.domain))(domain);
}

function unauthorized(): Refusal {
  return new Refusal(401, 'The request you have made requires authentication.');
}

function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal(400, 'Expecting an object in the request body.');
  return { ...value };
}
