/**
 * `stonegate who-can`: who may do something in the cluster, through which binding and role, as Stonegate's
 * index has it.
 */
import {
  WHO_CAN_RESOURCES,
  type WhoCanGrant,
  type WhoCanReview,
  type WhoCanSpec,
} from '../features/who-can/who-can-v1alpha1.ts';
import { didYouMean } from '../lib/did-you-mean.ts';
import { createAskingCommand } from './asking-command.ts';
import { columns, FLAG, type OptionValues, refuseWords, UsageError, VALUE } from './command.ts';
import { DESTINATION_USAGE, type Destination } from './destination.ts';
import { findResource, isOnlyInRules } from './find-resource.ts';
import { createOwnObjectClient } from './own-object-client.ts';
import { askStonegate } from './stonegate-api.ts';

const USAGE = `Usage: stonegate who-can VERB RESOURCE[/NAME] [--subresource NAME]
                         [-n NAMESPACE | -A] [--people]
       stonegate who-can VERB /PATH

Lists who may do something: users, groups and service accounts, each with the
binding and the role that allow it.
  stonegate who-can delete secrets -n web
  stonegate who-can get pods --subresource log -A
  stonegate who-can get /healthz
Without -n and -A the namespace is the context's, else "default"; a resource
that is in no namespace is asked about in the cluster. As for kubectl, pods/log
is a pod of the name "log": a subresource is named by --subresource.

  --subresource NAME         such as log, exec or scale
  -n, --namespace NAME       in this namespace
  -A, --all-namespaces       in all of them: also who may do it in which one
  --people                   also the users who hold each Keystone role now

${DESTINATION_USAGE}
You need the right to "create localresourceaccessreviews.stonegate.dev" in the
namespace; for -A, for a path and for what is in no namespace, to
"create resourceaccessreviews.stonegate.dev" in the cluster, or with Arktos in
your tenant.
Exit codes: 0 answered, whatever the answer; 1 not logged in, refused or not
reached; 2 wrong usage.
`;

const OPTIONS = {
  subresource: VALUE,
  namespace: { type: 'string', short: 'n' },
  'all-namespaces': { type: 'boolean', short: 'A' },
  people: FLAG,
} as const;

/** https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb */
const VERBS: readonly string[] = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*'],
  ...['use', 'bind', 'escalate', 'impersonate', 'approve', 'sign', 'attest'],
];

const COMMAND = { usage: USAGE, options: OPTIONS, words: VERBS } as const;

const { ResourceAccessReview, LocalResourceAccessReview } = WHO_CAN_RESOURCES;

type Values = OptionValues<typeof OPTIONS>;

export const whoCan = createAskingCommand(COMMAND, async ({ values, words, note, print, destination }) => {
  const [verb, target] = questionIn(words, values);
  const stonegate = await destination();
  const { spec, namespace } = await questionOf(verb, target, values, stonegate, note);
  const resource = namespace === undefined ? ResourceAccessReview : LocalResourceAccessReview;
  const answer = await createOwnObjectClient<WhoCanReview>(stonegate, resource, namespace).create(spec);
  await print(answer, () => tableOf(answer));
  for (const warning of warningsOf(answer)) note(warning);
});

/** @returns a verb, and a path or a resource as kubectl writes it, perhaps with a name */
function questionIn(
  [verb, target, ...more]: readonly string[],
  { namespace, 'all-namespaces': everywhere = false, subresource }: Values,
): [verb: string, target: string] {
  if (verb === undefined || target === undefined)
    throw new UsageError('who can do what? For example: who-can delete secrets -n web');
  refuseWords(more);
  if (everywhere && namespace !== undefined) throw new UsageError('either -n or -A, not both');
  if (target.startsWith('/') && (everywhere || namespace !== undefined || subresource !== undefined))
    throw new UsageError('a path is in no namespace and has no subresource');
  return [verb.toLowerCase(), target];
}

interface Question {
  readonly spec: WhoCanSpec;
  /** Undefined to ask about the cluster. */
  readonly namespace?: string;
}

/** @param note takes what the user is to know of how the words are read */
async function questionOf(
  verb: string,
  target: string,
  { namespace: given, 'all-namespaces': everywhere, subresource = '', people = false }: Values,
  destination: Destination,
  note: (line: string) => void,
): Promise<Question> {
  const common = { verb, ...(people && { people }) };
  if (target.startsWith('/')) return { spec: { ...common, path: target } };
  const [word = '', name = ''] = target.split('/', 2);
  const found = await findResource(word, (path) => askStonegate(destination, path));
  const suggestion = VERBS.includes(verb) ? '' : didYouMean(verb, VERBS);
  if (suggestion !== '')
    note(`no verb is known as ${JSON.stringify(verb)}: it is asked about as written${suggestion}`);
  const { apiGroup, resource, namespaced, known } = found;
  if (namespaced === undefined && !isOnlyInRules(resource))
    note(
      `no resource is known as ${JSON.stringify(word)}: it is asked about as written${didYouMean(word, known)}`,
    );
  const spec = { ...common, apiGroup, resource, subresource, name };
  if (everywhere || (given === undefined && namespaced === false)) return { spec };
  return { spec, namespace: given ?? destination.namespace };
}

function tableOf({ status }: WhoCanReview): string {
  const rows = status.grants.flatMap((grant) => {
    const { subject } = grant;
    const row = [subject.kind, nameOf(subject), whereOf(grant), throughOf(grant)];
    const people = subject.people?.length === 0 ? ['(no enabled user holds it now)'] : (subject.people ?? []);
    return [row, ...people.map((holder) => ['', `  ${holder}`, '', ''])];
  });
  return columns([['KIND', 'NAME', 'WHERE', 'THROUGH'], ...rows]);
}

function nameOf({ kind, namespace, name, displayName }: WhoCanGrant['subject']): string {
  if (kind === 'ServiceAccount') return `${namespace}/${name}`;
  return displayName === undefined ? name : `${displayName} (${name})`;
}

function whereOf({ everywhere, namespace }: WhoCanGrant): string {
  if (!everywhere && namespace === '') return 'some namespace';
  return everywhere ? 'everywhere' : `namespace ${namespace}`;
}

function throughOf({ by, binding, role }: WhoCanGrant): string {
  if (by === 'builtIn') return 'built in: the API server does not ask RBAC';
  if (by === 'impersonation') return 'may act as any user: it is Stonegate itself';
  if (binding === undefined) return 'a binding that you may not list';
  return `${binding.kind} ${binding.name} → ${role?.kind} ${role?.name}`;
}

function warningsOf({ status }: WhoCanReview): string[] {
  const { otherTenants, warnings, incompleteReason, evaluationError } = status;
  return [
    ...warnings,
    ...(otherTenants === 0 ? [] : [`subjects of other tenants that can do it too: ${otherTenants}`]),
    ...(evaluationError === '' ? [] : [`the list may be incomplete: ${evaluationError}`]),
    ...(incompleteReason === undefined ? [] : [`the list may be incomplete: ${incompleteReason}`]),
  ];
}
