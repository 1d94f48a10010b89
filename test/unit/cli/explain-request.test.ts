import t from 'tap';
import { parse } from 'yaml';
import { UsageError } from '../../../src/cli/command.ts';
import { requestOf } from '../../../src/cli/explain-request.ts';
import { eachRow, rows } from '../../support/rows.ts';

/** The words and the options of the command, and the request that they mean. */
const REQUESTS = rows(`
get pods | GET /api/v1/namespaces/default/pods
list pods | GET /api/v1/pods | all-namespaces=true
get pod/web | GET /api/v1/namespaces/default/pods/web
get pods web | GET /api/v1/namespaces/default/pods/web/status | subresource=status
get nodes | GET /api/v1/nodes | namespace=web
watch deploy | GET /apis/apps/v1/namespaces/default/deployments?watch=true
watch pods web | GET /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb&watch=true
update ing shop | PUT /apis/networking.k8s.io/v1/namespaces/default/ingresses/shop
delete clusterrole system:x | DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/system:x
get ingressclass | GET /apis/networking.k8s.io/v1/ingressclasses
get widgets.v1beta1.example.com | GET /apis/example.com/v1beta1/namespaces/n/widgets | namespace=n
get deployments.v1beta2.apps | GET /apis/apps/v1beta2/namespaces/default/deployments
get pods a/b | GET /api/v1/namespaces/default/pods/a%2Fb
logs web | GET /api/v1/namespaces/n/pods/web/log | namespace=n
exec web | GET /api/v1/namespaces/default/pods/web/exec websocket
port-forward web | GET /api/v1/namespaces/default/pods/web/portforward spdy/3.1 | upgrade=spdy/3.1
 | POST /api/v1/nodes | path=/api/v1/nodes method=post`);

const flagsOf = (options: string) =>
  Object.fromEntries(
    split(options).map((option) => {
      const [name = '', value = ''] = option.split('=');
      return [name, value === 'true' ? true : value];
    }),
  );
const split = (words: string) => words.split(' ').filter((word) => word !== '');

for (const [words, expected, options] of REQUESTS)
  t.test(`${words} ${options} is ${expected}`, async (t) => {
    const { method, path, upgrade } = requestOf(split(words), flagsOf(options));
    t.equal([method, path, upgrade].filter((part) => part !== undefined).join(' '), expected);
  });

await eachRow(
  `
  | {} | what is to be explained
  sing pods | {} | unknown verb "sing"
  get widgets | {} | RESOURCE.VERSION.GROUP
  get pods | {subresource: status} | needs the name
  exec a b | {} | one pod
  get pods | {method: GET} | needs --path
  get pods | {path: /x} | not both
  get pods | {header: ['bad name: x']} | Name: value`,
  (words, flags, message) =>
    t.test(`${words} ${flags} is a usage error`, async (t) =>
      t.throws(() => requestOf(split(words), parse(flags)), { constructor: UsageError, message }),
    ),
);

t.test('headers are sent as they were given', async (t) => {
  const { headers } = requestOf(['get', 'pods'], { header: ['X-A:b: c', 'X-B: '] });
  t.strictSame(headers, [
    ['X-A', 'b: c'],
    ['X-B', ''],
  ]);
});
