/** The text that the demo prints when it is ready: commands to copy into a shell. */
import { relative } from 'node:path';
import type { Mode } from '../test/support/testbed.ts';
import type { Playground } from './playground.ts';

const TRIES: readonly (readonly [string, string])[] = [
  ['who am I?', 'kubectl auth whoami'],
  ['carol, by OIDC', 'kubectl --context acme-carol auth whoami'],
  ['what is there', 'kubectl get pods,deployments,configmaps,namespaces'],
  [
    'two tenants',
    `for c in acme-alice globex-bob; do kubectl --context $c get configmap settings -o jsonpath='{.data.owner}{"\\n"}'; done`,
  ],
  ['as another', 'kubectl auth whoami --as reader; kubectl get pods --as reader   # the second: 403'],
  ['exec', 'kubectl exec web -- echo hello; kubectl exec -it web -- sh   # echo, env, hostname, cat, exit'],
  ['logs', 'kubectl logs -f web --tail 3'],
  ['copy', 'kubectl cp README.md web:/tmp/readme.md && kubectl exec web -- cat /tmp/readme.md'],
  ['port-forward', 'kubectl port-forward pod/web 8080:80   # then: curl http://127.0.0.1:8080/'],
  ['few rights', 'kubectl --context acme-dave get namespaces   # those that dave may get'],
  [
    'everywhere',
    'kubectl --context acme-dave get pods -A; kubectl --context acme-dave get secrets -A   # the second: 403',
  ],
  ['my rights', 'npm run -s stonegate -- access --context acme-dave'],
  ['who can', 'npm run -s stonegate -- who-can list pods -n shop'],
  [
    'quota',
    'npm run -s stonegate -- quota; kubectl get tenantquota; kubectl run more --image nginx   # the third: 403',
  ],
  [
    'token for CI',
    'TOKEN=$(npm run -s stonegate -- token create --scope namespace/shop/read --expires 1h); kubectl --token $TOKEN get pods -n shop; kubectl --token $TOKEN get pods   # the last: 403',
  ],
  [
    'members',
    'npm run -s stonegate -- members add erin edit -n shop; npm run -s stonegate -- members -n shop',
  ],
  [
    'a team',
    'npm run -s stonegate -- teams create tills dave erin; npm run -s stonegate -- members add tills control --type team -n shop; kubectl --context acme-dave exec till -n shop -- echo hello',
  ],
  ['watch', 'kubectl get configmaps --watch   # elsewhere: kubectl label configmap settings seen=yes'],
];

/** What alice may not do. */
const REFUSED: Readonly<Record<Mode, typeof TRIES>> = {
  arktos: [
    ['refused (403)', 'kubectl get --raw /api/v1/tenants/globex/namespaces/default/pods'],
    ['may I?', 'kubectl auth can-i delete pods; kubectl auth can-i list nodes'],
  ],
  shared: [
    ['refused (403)', 'kubectl get pods -n globex'],
    ['may I?', 'kubectl auth can-i delete pods; kubectl auth can-i delete pods -n globex'],
  ],
};

export function whatToTry({ folder, mode, url, admin, portal, testbed }: Playground): string {
  const file = (name: string): string => relative('.', `${folder}/${name}`);
  const explained = `npm run -s stonegate -- explain delete pods/till -n shop --token-file ${file('dave.token')} --config ${file('stonegate.yaml')}`;
  // Before the team, which gives dave what he lacks here.
  const tries = TRIES.toSpliced(-2, 0, ['why', explained]).toSpliced(4, 0, ...REFUSED[mode]);
  const width = Math.max(...tries.map(([what]) => what.length)) + 2;
  return [
    `Stonegate is ready at ${url}`,
    '',
    `  behind it    API server ${testbed.apiServer.url} (stand-in for ${mode === 'arktos' ? 'Arktos' : 'an ordinary cluster; with --arktos for Arktos'})`,
    `  users from   Keystone ${testbed.keystone.url} (stand-in), OIDC ${testbed.provider.issuer}`,
    `  contexts     acme-alice, acme-dave (few rights) and globex-bob (Keystone tokens), acme-carol (OIDC ID token)`,
    '',
    'In another terminal, from this folder, with any kubectl:',
    '',
    `  export KUBECONFIG=${folder}/kubeconfig`,
    '',
    ...tries.map(([what, command]) => `  ${what.padEnd(width)}${command}`),
    '',
    `  in a browser              ${portal}/access   # Keystone: alice, alice-pass or dave, dave-pass; domain acme, project web`,
    `  ${' '.repeat(26)}${portal}   # Continue with Acme: carol, carol-pass`,
    `  ${' '.repeat(26)}# the certificate is the demo's own: ${file('ca.crt')} (curl --cacert, OS_CACERT for stonegate login)`,
    `  what the API server saw   tail -f ${file('apiserver.log')}`,
    `  audit log                 tail -f ${file('audit.log')}`,
    `  metrics and health        curl ${admin}/metrics; curl ${admin}/readyz`,
    `  its configuration and log ${file('stonegate.yaml')} (reloaded when it changes), ${file('stonegate.log')}`,
    '',
    `Ctrl-C ends it all, or kill $(cat ${file('pid')}).`,
    '',
  ].join('\n');
}
