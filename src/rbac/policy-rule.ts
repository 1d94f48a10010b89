/**
 * The shape of a rule of a role that a user has written. One with a field that is not known here is none: the
 * field may restrict what the others mean.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import { isListOf, isObjectOf, isOptional, isText } from '../lib/json-shape.ts';

const isTexts = isListOf(isText);

export const isPolicyRule = isObjectOf<PolicyRule>({
  apiGroups: isOptional(isTexts),
  resources: isOptional(isTexts),
  resourceNames: isOptional(isTexts),
  nonResourceURLs: isOptional(isTexts),
  verbs: isTexts,
});
