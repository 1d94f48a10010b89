/**
 * CEL expressions in the configuration of issuers. They are compiled when they are read, as kube-apiserver
 * does it.
 */
import { z } from 'zod';
import { compileClaimsExpression, compileUserExpression, ExpressionError } from '../../cel/cel.ts';

/** The result types that a field allows: those of CEL, and how they are called in a message. */
export interface ResultType {
  readonly words: string;
  readonly types: ReadonlySet<string>;
}

export const STRING: ResultType = { words: 'a string', types: new Set(['string', 'dyn', 'any']) };
export const STRINGS: ResultType = {
  words: 'a string or a list of strings',
  types: new Set(['string', 'list(string)', 'list(any)', 'list(dyn)', 'null_type', 'dyn', 'any']),
};
/** Not `dyn`: a rule must be a comparison. */
export const TRUTH: ResultType = { words: 'true or false', types: new Set(['bool']) };

/**
 * @param result kube-apiserver checks the type of a name or an extra value only when it evaluates a token;
 *   without this parameter the type is not checked either
 */
export function celExpression(about: 'claims' | 'user', result?: ResultType) {
  return z.string().superRefine((source, context) => {
    const refuse = (message: string, found?: string) =>
      context.addIssue({ code: 'custom', message, continue: false, ...(found && { params: { found } }) });
    if (source.trim() === '') {
      refuse('a CEL expression');
      return;
    }
    try {
      const { type } = (about === 'claims' ? compileClaimsExpression : compileUserExpression)(source);
      if (result !== undefined && !result.types.has(type))
        refuse(`an expression that returns ${result.words}`, `one that returns ${type}`);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      refuse(`a CEL expression about ${about}`, `one that does not compile: ${error.message}`);
    }
  });
}

interface ExpressionPlaces {
  readonly claimMappings: {
    readonly username: { readonly claim?: string; readonly expression?: string };
    readonly groups?: { readonly claim?: string; readonly expression?: string };
    readonly uid?: { readonly claim?: string; readonly expression?: string };
    readonly extra: readonly { readonly key: string; readonly valueExpression?: string }[];
  };
  readonly claimValidationRules: readonly { readonly claim?: string; readonly expression?: string }[];
}

interface IssuerPlaces extends ExpressionPlaces {
  readonly asKubernetes: boolean;
}

/** Claims that are no strings: RFC 7519 §4.1, OpenID Connect Core 1.0 §5.1 and §2. */
const NO_STRINGS = new Set([
  'email_verified',
  'phone_number_verified',
  'address',
  'exp',
  'nbf',
  'iat',
  'auth_time',
  'updated_at',
]);

/**
 * What lets no user of the issuer in though it is valid, with the place in the issuer's entry. kube-apiserver
 * has the types of values checked only when it evaluates a token.
 */
export function refusalsOfEveryToken({
  claimMappings: { username, groups, uid, extra },
  claimValidationRules,
  asKubernetes,
}: IssuerPlaces): { readonly path: readonly (string | number)[]; readonly message: string }[] {
  const expressions = [
    [['username', 'expression'], username.expression, STRING],
    [['groups', 'expression'], groups?.expression, STRINGS],
    [['uid', 'expression'], uid?.expression, STRING],
    ...extra.map(
      ({ valueExpression }, at) => [['extra', at, 'valueExpression'], valueExpression, STRINGS] as const,
    ),
  ] as const;
  const mistyped = expressions.flatMap(([path, source, { words, types }]) => {
    if (source === undefined) return [];
    const { type, givesListOfGo } = compileClaimsExpression(source);
    const isListOfGo = asKubernetes && givesListOfGo;
    const given = isListOfGo
      ? `what split or findAll returns, which is not accepted as a list: write .map(each, each) behind it`
      : `${type}, and not ${words}`;
    if (types.has(type) && !isListOfGo) return [];
    return [{ path: ['claimMappings', ...path], message: `lets no user in: it returns ${given}` }];
  });
  const compared = claimValidationRules.flatMap(({ claim }, at) =>
    claim === undefined || !NO_STRINGS.has(claim)
      ? []
      : [
          {
            path: ['claimValidationRules', at, 'requiredValue'],
            message: `lets no user in: ${claim} is no string; write an expression, such as claims.email_verified == true`,
          },
        ],
  );
  return [...mistyped, ...compared];
}

/**
 * Whether `email_verified` is read in the user name, an extra value or a claim rule, as kube-apiserver
 * requires. An address that is read by index is not detected.
 */
export function emailIsVerified(asKubernetes: boolean) {
  const reads = (source: string, claim: string): boolean => {
    const { selects, claims } = compileClaimsExpression(source);
    return asKubernetes ? selects(claim) : claims.has(claim);
  };
  return (
    { claimMappings: { username, extra }, claimValidationRules }: ExpressionPlaces,
    context: z.core.$RefinementCtx,
  ) => {
    if (username.expression === undefined || !reads(username.expression, 'email')) return;
    const expressions = [
      username.expression,
      ...extra.map(({ valueExpression }) => valueExpression),
      ...claimValidationRules.map(({ expression }) => expression),
    ];
    if (expressions.some((source) => source !== undefined && reads(source, 'email_verified'))) return;
    context.addIssue({
      code: 'custom',
      path: ['claimMappings', 'username', 'expression'],
      message:
        'expected claims.email_verified to be checked together with claims.email, in this expression, in an extra or in a claimValidationRules expression: otherwise any user could claim any address',
      params: { isSentence: true },
    });
  };
}
