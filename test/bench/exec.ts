/** What an upgraded connection (exec, port-forward) carries: the upstream pours, the client counts. */
import { connect } from 'node:tls';
import { keystoneToken } from './configuration.ts';
import { passThrough } from './contenders/node.ts';
import { stonegate } from './contenders/stonegate.ts';
import type { Site } from './site.ts';
import { cpuSeconds } from './usage.ts';

export interface ExecRow {
  readonly contender: string;
  readonly megabytesPerSecond: number;
  readonly cpuPerMegabyte: number;
}

/** @param seconds of counting, after one of warm-up */
export async function measureExec(site: Site, seconds: number): Promise<ExecRow[]> {
  const rows: ExecRow[] = [];
  for (const contender of [stonegate, passThrough]) {
    const serving = await contender.start({ site, upstream: 'plain' });
    try {
      await pour(serving.port, 1);
      const before = cpuSeconds(serving.pid);
      const bytes = await pour(serving.port, seconds);
      const cpu = cpuSeconds(serving.pid) - before;
      rows.push({
        contender: contender.name,
        megabytesPerSecond: bytes / seconds / 1e6,
        cpuPerMegabyte: (cpu * 1e6) / (bytes / 1e6),
      });
    } finally {
      await serving.stop();
    }
  }
  return rows;
}

function pour(port: number, seconds: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const path = '/api/v1/namespaces/default/pods/web/exec?command=cat&stdout=true';
      const head = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0'];
      socket.write(
        [`POST ${path} HTTP/1.1`, ...head, `Authorization: Bearer ${keystoneToken()}`, '', ''].join('\r\n'),
      );
    });
    socket.on('data', (chunk) => {
      if (bytes === 0 && !chunk.toString('latin1', 0, 12).endsWith('101')) {
        socket.destroy(new Error(`no upgrade: ${chunk.toString('latin1', 0, 200)}`));
      }
      bytes += chunk.length;
    });
    socket.on('error', reject);
    setTimeout(() => {
      socket.destroy();
      resolve(bytes);
    }, seconds * 1_000);
  });
}
