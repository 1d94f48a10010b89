/**
 * Rules for the logins of issuers: what users can log in with, the API accepts.
 */
import type { CoreConfiguration } from './core-configuration.ts';
import type { Path, Rule } from './problem.ts';

export function loginRules({ authentication }: Pick<CoreConfiguration, 'authentication'>): Rule[] {
  const logins = authentication.jwt.flatMap(({ login, issuer }, at) =>
    login === undefined ? [] : [{ ...login, issuer, path: ['authentication', 'jwt', at, 'login'] }],
  );
  return logins.flatMap(({ name, clientID, issuer, path }, at): Rule[] => [
    clientRule(clientID, issuer.audiences, path),
    [
      [...path, 'name'],
      logins.findIndex((other) => other.name === name) < at,
      `expected another name than the login of ${logins.find((other) => other.name === name)?.issuer.url}`,
    ],
  ]);
}

/** @param path of the login or of what refers to it */
export function clientRule(client: string | undefined, audiences: readonly string[] = [], path: Path): Rule {
  return [
    [...path, 'clientID'],
    client !== undefined && audiences.length > 0 && !audiences.includes(client),
    `expected one of the issuer's audiences, ${audiences.join(', ')}: other tokens are not accepted`,
  ];
}
