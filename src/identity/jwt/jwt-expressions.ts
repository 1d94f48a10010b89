/**
 * Evaluates the CEL expressions of an issuer's configuration, as kube-apiserver does. A result of another
 * type is refused, never converted, and messages repeat nothing of the token.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */

import {
  compileClaimsExpression,
  compileUserExpression,
  type Expression,
  ExpressionError,
  type Result,
} from '../../cel/cel.ts';
import { unauthorized } from '../../errors/status-error.ts';
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { quoted, UnusableClaims } from './jwt-claims.ts';
import type { ExpressionRule } from './jwt-configuration.ts';

/**
 * @returns a check that throws StatusError CredentialInvalid unless the rule evaluates to true; its message
 *   is for the log
 * @throws ExpressionError if it does not compile, which loading the configuration has already reported
 */
export function claimRule(rule: ExpressionRule): (claims: JSONObject) => void {
  const expression = compileClaimsExpression(rule.expression);
  return (claims) => {
    refuseInexact(expression, claims);
    requireTrue(expression, claims, rule);
  };
}

/** The same for a rule about the user that the claims make. */
export function userRule(rule: ExpressionRule): (user: UserInfo) => void {
  const expression = compileUserExpression(rule.expression);
  return (user) => requireTrue(expression, user, rule);
}

function requireTrue<Given>(
  expression: Expression<Given>,
  given: Given,
  { message, expression: text }: ExpressionRule,
): void {
  try {
    if (expression.evaluate(given) === true) return;
  } catch (error) {
    if (error instanceof ExpressionError) throw unauthorized(`validation rule: ${error.message}`);
    throw error;
  }
  throw unauthorized(`validation rule: ${message ?? `${text} is not true`}`);
}

export interface ReaderOptions {
  readonly source: string;
  /** The field, for the message: `the username`. */
  readonly what: string;
}

/** @returns a reader that throws UnusableClaims if the expression gives anything but a string */
export function stringReader(options: ReaderOptions): (claims: JSONObject) => string {
  const { what } = options;
  const evaluate = evaluator(options);
  return (claims) => {
    const value = evaluate(claims);
    if (typeof value === 'string') return value;
    throw new UnusableClaims(`the expression for ${what} returns no string`);
  };
}

/**
 * Reads a string, a list of strings, or null for none; empty strings are left out.
 *
 * @param options.asKubernetes whether results of `split` are refused, as kube-apiserver does
 * @returns a reader that throws UnusableClaims if the expression gives anything else
 */
export function stringsReader(
  options: ReaderOptions & { readonly asKubernetes: boolean },
): (claims: JSONObject) => readonly string[] {
  const { what, asKubernetes } = options;
  const evaluate = evaluator(options);
  return (claims) => {
    const value = evaluate(claims);
    if (value === null) return [];
    if (typeof value === 'string') return value === '' ? [] : [value];
    if (typeof value !== 'object' || (asKubernetes && value.ofGo))
      throw new UnusableClaims(`the expression for ${what} returns neither a string nor a list of strings`);
    return value.strings.filter((member) => member !== '');
  };
}

function evaluator({ source, what }: ReaderOptions): (claims: JSONObject) => Result {
  const expression = compileClaimsExpression(source);
  return (claims) => {
    refuseInexact(expression, claims);
    try {
      return expression.evaluate(claims);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      throw new UnusableClaims(`the expression for ${what} says nothing of this token: ${error.message}`);
    }
  };
}

/** JSON numbers beyond the safe integers lose digits: two user ids could become one. */
function refuseInexact({ claims: names }: Expression<object>, claims: JSONObject): void {
  const visit = (value: unknown): boolean => {
    if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
    return typeof value === 'object' && value !== null && Object.values(value).some(visit);
  };
  for (const name of names)
    if (Object.hasOwn(claims, name) && visit(claims[name]))
      throw new UnusableClaims(`a number in the claim ${quoted(name)} is too large to be exact`);
}
