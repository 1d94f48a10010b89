/**
 * Rules for OIDC issuers and their CEL expressions, as in kube-apiserver. A token's `iss` must identify
 * exactly one issuer.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import type { ExpressionRule, JWTConfiguration } from '../api/config-v1alpha1.ts';
import { compileClaimsExpression, compileUserExpression, ExpressionError } from '../cel/cel.ts';
import { checkContent } from './content-checks.ts';
import type { Finding, Path } from './problem.ts';

/** @param serviceAccountIssuers the API server's own issuers, whose tokens only TokenReview accepts */
export function validateIssuers(
  jwt: readonly JWTConfiguration[],
  serviceAccountIssuers: readonly string[],
): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (const [index, configuration] of jwt.entries()) {
    const { issuer, claimMappings } = configuration;
    const path = ['authentication', 'jwt', index, 'issuer'];
    const key = twinKey(configuration);
    if (seen.has(key)) {
      findings.push({
        path: [...path, 'url'],
        message: `expected an issuer of its own, found ${issuer.url} again`,
      });
    }
    seen.add(key);
    const { discoveryURL } = issuer;
    if (
      discoveryURL !== undefined &&
      jwt.findIndex((other) => other.issuer.discoveryURL === discoveryURL) < index
    ) {
      findings.push({
        path: [...path, 'discoveryURL'],
        message: `expected a discovery document of its own, found ${discoveryURL} again`,
      });
    }
    if (serviceAccountIssuers.includes(issuer.url)) {
      findings.push({
        path: [...path, 'url'],
        message: `expected another issuer than the API server's own for service accounts, found ${issuer.url}`,
      });
    }
    findings.push(
      ...repeatedKeys(claimMappings.extra, ['authentication', 'jwt', index, 'claimMappings', 'extra']),
    );
    findings.push(...validateExpressions(configuration, ['authentication', 'jwt', index]));
    if (issuer.caFile !== undefined && issuer.certificateAuthority !== undefined) {
      findings.push({
        path: [...path, 'certificateAuthority'],
        message: 'expected either caFile or certificateAuthority, found both',
      });
    }
    if (issuer.certificateAuthority !== undefined) {
      const message = checkContent('ca', Buffer.from(issuer.certificateAuthority));
      if (message !== undefined) findings.push({ path: [...path, 'certificateAuthority'], message });
    }
  }
  return findings;
}

function repeatedKeys(extra: readonly { readonly key: string }[], path: Path): Finding[] {
  return extra.flatMap(({ key }, index) =>
    extra.findIndex((other) => other.key === key) === index
      ? []
      : [{ path: [...path, index, 'key'], message: `expected each key once, found "${key}" again` }],
  );
}

/**
 * Equal for URLs that differ only in the host's case or a final slash; kube-apiserver treats those as
 * different.
 */
function twinKey({ issuer, asKubernetes }: JWTConfiguration): string {
  return asKubernetes ? issuer.url : new URL(issuer.url).href.replace(/\/+$/, '');
}

interface ExpressionField {
  readonly path: Path;
  readonly source: string;
  readonly about: 'claims' | 'user';
  /** The result types that are allowed. */
  readonly gives: ResultType;
}

interface ResultType {
  readonly words: string;
  readonly types: ReadonlySet<string>;
}

const STRING: ResultType = { words: 'a string', types: new Set(['string', 'dyn', 'any']) };
const STRINGS: ResultType = {
  words: 'a string or a list of strings',
  types: new Set(['string', 'list(string)', 'list(any)', 'list(dyn)', 'null_type', 'dyn', 'any']),
};
/** Not `dyn`: a rule must be a comparison. */
const TRUTH: ResultType = { words: 'true or false', types: new Set(['bool']) };

/** @param path the path of the issuer's entry */
function validateExpressions(jwt: JWTConfiguration, path: Path): Finding[] {
  const given = givenIn(jwt, path);
  const compiled = given.map((each) => compile(each, jwt.asKubernetes));
  const rules = given.filter(({ gives }) => gives === TRUTH);
  return [
    ...compiled.flatMap(({ findings }) => findings),
    ...repeated(rules),
    ...repeatedClaims(jwt, path),
    ...unverifiedEmail(compiled, path, jwt.asKubernetes),
    ...uselessPrefixes(jwt, path),
  ];
}

function givenIn({ claimMappings, claimValidationRules, userValidationRules }: JWTConfiguration, path: Path) {
  const { username, groups, uid, extra } = claimMappings;
  const mapping = (key: string, field: object | undefined, gives: ResultType): ExpressionField[] =>
    field !== undefined && 'expression' in field && typeof field.expression === 'string'
      ? [
          {
            path: [...path, 'claimMappings', key, 'expression'],
            source: field.expression,
            about: 'claims',
            gives,
          },
        ]
      : [];
  const rule = (
    key: string,
    about: ExpressionField['about'],
    index: number,
    { expression }: ExpressionRule,
  ): ExpressionField => ({
    path: [...path, key, index, 'expression'],
    source: expression,
    about,
    gives: TRUTH,
  });
  return [
    ...claimValidationRules.flatMap((each, index) =>
      'expression' in each ? [rule('claimValidationRules', 'claims', index, each)] : [],
    ),
    ...mapping('username', username, STRING),
    ...mapping('groups', groups, STRINGS),
    ...mapping('uid', uid, STRING),
    ...extra.flatMap((each, index): ExpressionField[] =>
      'valueExpression' in each
        ? [
            {
              path: [...path, 'claimMappings', 'extra', index, 'valueExpression'],
              source: each.valueExpression,
              about: 'claims',
              gives: STRINGS,
            },
          ]
        : [],
    ),
    ...userValidationRules.map((each, index) => rule('userValidationRules', 'user', index, each)),
  ];
}

interface ReadFields {
  readonly claims: ReadonlySet<string>;
  readonly selects: (field: string) => boolean;
}

interface CompiledExpression extends ExpressionField {
  readonly expression?: ReadFields;
  readonly findings: readonly Finding[];
}

/** kube-apiserver checks the type of a name or an extra value only when it evaluates a token. */
function compile(given: ExpressionField, asKubernetes: boolean): CompiledExpression {
  try {
    const expression =
      given.about === 'claims' ? compileClaimsExpression(given.source) : compileUserExpression(given.source);
    const { words, types } = given.gives;
    if (types.has(expression.type) || (asKubernetes && given.gives !== TRUTH))
      return { ...given, expression, findings: [] };
    const message = `expected an expression that gives ${words}, found one that gives ${expression.type}`;
    return { ...given, expression, findings: [{ path: given.path, message }] };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = `expected a CEL expression about ${given.about}, found one that does not compile: ${error.message}`;
    return { ...given, findings: [{ path: given.path, message }] };
  }
}

function repeated(rules: readonly ExpressionField[]): Finding[] {
  return rules.flatMap(({ path, source, about }, index) =>
    rules.findIndex((other) => other.source === source && other.about === about) === index
      ? []
      : [{ path, message: 'expected each rule once, found it again' }],
  );
}

function repeatedClaims({ claimValidationRules }: JWTConfiguration, path: Path): Finding[] {
  const claims = claimValidationRules.map((rule) => ('claim' in rule ? rule.claim : undefined));
  return claims.flatMap((claim, index) =>
    claim === undefined || claims.indexOf(claim) === index
      ? []
      : [
          {
            path: [...path, 'claimValidationRules', index, 'claim'],
            message: `expected each claim once, found ${JSON.stringify(claim)} again`,
          },
        ],
  );
}

/**
 * As in kube-apiserver, `email_verified` must be read in the user name, an extra value or a claim rule. An
 * address that is read by index is not detected.
 */
function unverifiedEmail(
  compiled: readonly CompiledExpression[],
  path: Path,
  asKubernetes: boolean,
): Finding[] {
  const username = [...path, 'claimMappings', 'username', 'expression'];
  const reads = (given: CompiledExpression | undefined, claim: string) =>
    (asKubernetes ? given?.expression?.selects(claim) : given?.expression?.claims.has(claim)) === true;
  const name = compiled.find(({ path }) => path.join() === username.join());
  if (!reads(name, 'email')) return [];
  const places = compiled.filter(
    ({ path, about }) => about === 'claims' && !path.includes('groups') && !path.includes('uid'),
  );
  if (places.some((place) => reads(place, 'email_verified'))) return [];
  return [
    {
      path: username,
      message:
        'expected claims.email_verified to be looked at beside claims.email, in this expression, in an extra or in a claimValidationRules expression: otherwise any user could claim any address',
    },
  ];
}

function uselessPrefixes(
  { claimMappings: { username, groups }, usernamePrefix, groupsPrefix }: JWTConfiguration,
  path: Path,
): Finding[] {
  const message = 'expected only where an expression makes these names: a claim has a prefix of its own';
  return [
    ...(usernamePrefix !== undefined && !('expression' in username)
      ? [{ path: [...path, 'usernamePrefix'], message }]
      : []),
    ...(groupsPrefix !== undefined && !(groups && 'expression' in groups)
      ? [{ path: [...path, 'groupsPrefix'], message }]
      : []),
  ];
}
