import t from 'tap';
import { parseSections, problemsOfSections } from '../../support/configuration-problems.ts';

function parse(rest: string) {
  return { members: parseSections({}, rest).configuration?.members, problems: problemsOfSections({}, rest) };
}

t.test('members require the index and a credential that writes', async (t) => {
  const rest = 'access: { index: true }\nbindings: { credential: { tokenFile: p } }';
  t.match(parse(`members: {}\n${rest}`), {
    problems: [],
    members: { namespace: 'stonegate', teamMembers: 100, inviteAnyone: false },
  });
  t.match(parse('members: {}').problems, [/access.index/, /bindings.credential/]);
  t.match(parse(`members: { teamMembers: 0 }\n${rest}`).problems, [/members.teamMembers/]);
});
