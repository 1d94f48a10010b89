/** Whatever one tenant does to the whole program, another tenant's requests reach the API server. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { startStonegate } from '../support/stonegate.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
/** More than all connections for brief requests. */
const UPLOADS = 300;
const STREAMS = 75;

t.test('three hundred uploads of one tenant that never end keep no other tenant waiting', async (t) => {
  const stonegate = await startStonegate({ folder: t.testdir() });
  const sessions: ClientHttp2Session[] = [];
  t.teardown(async () => {
    for (const session of sessions) session.destroy();
    await stonegate.close();
  });
  const { url, authority, apiServer, ask, keystoneToken } = stonegate;
  const [alice, bob] = [keystoneToken('alice'), keystoneToken('bob')];
  for (const token of [alice, bob]) t.equal((await ask(token, CONFIGMAPS)).status, 200);
  const uploads: ClientHttp2Stream[] = [];
  for (let begun = 0; begun < UPLOADS; begun += STREAMS) {
    const session = connect(url, { ca: authority.cert });
    session.on('error', () => undefined);
    sessions.push(session);
    for (let stream = 0; stream < STREAMS; stream += 1) {
      const upload = session.request({
        ':method': 'POST',
        ':path': CONFIGMAPS,
        authorization: `Bearer ${alice}`,
        'content-type': 'application/json',
      });
      upload.on('error', () => undefined).write('{');
      uploads.push(upload);
    }
  }
  const arrived = (): number => apiServer.requests.filter(({ method }) => method === 'POST').length;
  await eventually(() => arrived() >= 128);
  t.equal((await ask(bob, CONFIGMAPS)).status, 200);
  t.equal((await ask(bob, CONFIGMAPS)).status, 200);
  t.equal(arrived(), 128, 'half of the connections, and no more');
  t.equal(uploads.filter(({ destroyed }) => destroyed).length, 0);

  // Whoever leaves makes room for the tenant's next.
  for (const upload of uploads) upload.close();
  t.equal((await ask(alice, CONFIGMAPS)).status, 200);
});
