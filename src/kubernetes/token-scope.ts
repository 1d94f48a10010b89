/**
 * The scope of an access token limits what its holder may do beside the rights of the owner. The feature
 * `tokens` compiles it; the stages and the RBAC index ask it.
 */

import type { Question, ResourceQuestion } from './authorizer-attributes.ts';
import type { PolicyRule } from './kubernetes-object.ts';

/** The scope of an access token. It gives no right: the owner must have the right too. */
export interface TokenScope {
  /** The id of the token. */
  readonly id: string;
  /** The scopes as they were given. */
  readonly text: string;
  /** The scopes, and what `tenant/…` covers now if that is not everything: for users, without a full stop. */
  readonly described: string;
  /** Whether this scope was given: `session`, `+impersonate`. */
  has(scope: string): boolean;
  allows(question: Question): boolean;
  /** Whether the question is allowed in some namespace at least: then the response may be filtered. */
  allowsSomewhere(question: ResourceQuestion): boolean;
  /** The namespaces in which it may cover more than in one that does not exist. */
  namespaces(): ReadonlySet<string>;
  /**
   * What the scope covers now; `allows` refuses what escalates without its word.
   *
   * @param namespace empty for what is in none; `*` for one that does not exist
   */
  rulesIn(namespace: string): readonly PolicyRule[];
}
