import t from 'tap';
import { parseConfiguration } from '../../../src/config/parse.ts';
import { formatProblem } from '../../../src/config/problem.ts';

function parse(rest: string) {
  const { configuration, problems } = parseConfiguration(
    `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: c, keyFile: k } }
upstream: { server: "https://u", credential: { tokenFile: t } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone/v3" } }
${rest}`,
    '/',
  );
  return { members: configuration?.members, problems: problems.map(formatProblem) };
}

t.test('members need the index and a credential that writes', async (t) => {
  const rest = 'access: { index: true }\nbindings: { credential: { tokenFile: p } }';
  t.match(parse(`members: {}\n${rest}`), {
    problems: [],
    members: { namespace: 'stonegate', teamMembers: 100, inviteAnyone: false },
  });
  t.match(parse('members: {}').problems, [/access.index/, /bindings.credential/]);
  t.match(parse(`members: { teamMembers: 0 }\n${rest}`).problems, [/members.teamMembers/]);
});
