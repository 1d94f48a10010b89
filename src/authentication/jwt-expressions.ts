/**
 * What may come of the CEL expressions of an issuer's configuration. As strict as with plain claims: a result of
 * another type is refused, never converted, and a message repeats nothing of the token.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { ExpressionRule } from '../api/config-v1alpha1.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { compileExpression, type Expression, ExpressionError } from '../lib/cel.ts';
import type { JSONObject } from '../lib/json-object.ts';

/**
 * @returns throws StatusError CredentialInvalid unless the rule is exactly true; its message is for the log
 * @throws ExpressionError where it does not compile, which was said when the configuration was loaded
 */
export function claimRule(rule: ExpressionRule): (claims: JSONObject) => void {
  const expression = compileExpression(rule.expression, 'claims');
  return (claims) => requireTrue(expression, claims, rule);
}

/** The same, about the user that the claims make. */
export function userRule(rule: ExpressionRule): (user: UserInfo) => void {
  const expression = compileExpression(rule.expression, 'user');
  return (user) => requireTrue(expression, user, rule);
}

function requireTrue(expression: Expression, value: object, { message, expression: text }: ExpressionRule) {
  try {
    if (expression.evaluate(value) === true) return;
  } catch (error) {
    if (error instanceof ExpressionError) throw unauthorized(`validation rule: ${error.message}`);
    throw error;
  }
  throw unauthorized(`validation rule: ${message ?? `${text} is not true`}`);
}

/**
 * @param what the field, for the message: `the username`
 * @throws StatusError IdentityUnusable where the expression gives anything but a string
 */
export function stringOf(expression: Expression, claims: JSONObject, what: string): string {
  const value = evaluated(expression, claims, what);
  if (typeof value === 'string') return value;
  throw unusable(`the expression for ${what} gives no string`);
}

/**
 * A string, a list of strings, or null for none; empty ones are nothing.
 *
 * @param what the field, for the message: `groups`
 * @throws StatusError IdentityUnusable where the expression gives anything else
 */
export function stringsOf(expression: Expression, claims: JSONObject, what: string): readonly string[] {
  const value = evaluated(expression, claims, what);
  const members: unknown[] = value === null ? [] : Array.isArray(value) ? value : [value];
  if (members.every((member) => typeof member === 'string')) return members.filter((member) => member !== '');
  throw unusable(`the expression for ${what} gives neither a string nor a list of strings`);
}

function evaluated(expression: Expression, claims: JSONObject, what: string): unknown {
  try {
    return expression.evaluate(claims);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw unusable(`the expression for ${what} says nothing of this token: ${error.message}`);
  }
}

function unusable(message: string): StatusError {
  return new StatusError('IdentityUnusable', message);
}
