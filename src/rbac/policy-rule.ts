/**
 * The shape of a rule of a role that a user has written. One with a field that is not known here is none: the
 * field may restrict what the others mean.
 */
import { z } from 'zod';

const texts = z.array(z.string());

export const policyRuleSchema = z.strictObject({
  apiGroups: texts.exactOptional(),
  resources: texts.exactOptional(),
  resourceNames: texts.exactOptional(),
  nonResourceURLs: texts.exactOptional(),
  verbs: texts,
});
