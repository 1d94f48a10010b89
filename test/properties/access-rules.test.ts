/** A service that evaluates a user’s access rules comes to the same decisions as the RBAC index. */
import fc from 'fast-check';
import t from 'tap';
import { compileAccessRules as compile } from '../../src/features/access-rules/access-rules.ts';
import { subjectIn } from '../../src/rbac/attributes.ts';
import { allows } from '../../src/rbac/decide.ts';
import { rulesAllow } from '../support/evaluate-rules.ts';
import { questions, rbacObjects, subjects } from '../support/random-rbac.ts';
import { indexOf } from '../support/rbac-objects.ts';

const compileAccessRules = (...given: Parameters<typeof compile>) => compile(...given).rules;

t.test(
  'the access rules of a user, for one verb or for all, allow exactly what the user may do',
  async () => {
    fc.assert(
      fc.property(
        rbacObjects,
        subjects,
        fc.array(questions, { minLength: 20, maxLength: 60 }),
        (objects, subject, asked) => {
          const index = indexOf(...objects);
          const all = compileAccessRules(index, subject, { verb: '*' });
          for (const question of asked) {
            const expected = allows(index, subjectIn(subject, question.namespace), question);
            const { verb, apiGroup, resource, subresource, namespace } = question;
            const narrowed = {
              verb,
              apiGroup,
              resource: subresource === '' ? resource : `${resource}/${subresource}`,
              ...(namespace !== '' && { namespace }),
            };
            for (const rules of [
              all,
              compileAccessRules(index, subject, { verb }),
              compileAccessRules(index, subject, narrowed),
            ])
              if (rulesAllow(rules, question) !== expected)
                throw new Error(
                  `${JSON.stringify(question)} is ${expected}; rules: ${JSON.stringify(rules)}`,
                );
          }
        },
      ),
      { numRuns: 400 },
    );
  },
);

t.test('access rules do not depend on the order in which the index received the objects', async () => {
  fc.assert(
    fc.property(rbacObjects, subjects, (objects, subject) => {
      const one = compileAccessRules(indexOf(...objects), subject, { verb: '*' });
      const other = compileAccessRules(indexOf(...objects.toReversed()), subject, { verb: '*' });
      if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error('the rules differ');
    }),
  );
});
