/** The ways in which the stand-in Keystone fails, and the errors with which it refuses requests. */
import type { ServerResponse } from 'node:http';

/** What the stand-in does instead of responding; `hang` lasts until `release()`. */
export type Fault =
  | 'hang'
  | 'reset'
  | 'half-body'
  | 'html'
  | 'garbage'
  | 'wrong-shape'
  | 'other-token'
  | 'endless'
  | 'redirect'
  | 'error'
  | 'front-end-404';

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  500: 'Internal Server Error',
};

export function errorBody(status: number, message: string) {
  return { error: { code: status, message, title: TITLES[status] } };
}

export function misbehave(fault: Exclude<Fault, 'hang'>, response: ServerResponse) {
  const json = { 'Content-Type': 'application/json' };
  const html = { 'Content-Type': 'text/html' };
  switch (fault) {
    case 'reset':
      response.destroy();
      return;
    case 'half-body':
      response.writeHead(200, { ...json, 'Content-Length': '1000' });
      response.write('{"token":', () => response.destroy());
      return;
    case 'html':
      response.writeHead(200, html).end('<html><body>Welcome to the guest network</body></html>');
      return;
    case 'garbage':
      response.writeHead(200, json).end(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
      return;
    case 'wrong-shape':
      response.writeHead(200, json).end('{"token":{"methods":["password"],"user":"root"}}');
      return;
    case 'other-token':
      response.writeHead(200, { ...json, 'X-Subject-Token': 'gAAAAAsomebodyelses' }).end('{"token":{}}');
      return;
    case 'endless':
      response.writeHead(200, json);
      response.write(`{"token":"${'x'.repeat(2 * 1024 * 1024)}`);
      return;
    case 'redirect':
      response.writeHead(302, { ...json, Location: 'http://127.0.0.1:1/v3/auth/tokens' }).end('{}');
      return;
    case 'error':
      response.writeHead(500, json).end(JSON.stringify(errorBody(500, 'An unexpected error')));
      return;
    case 'front-end-404':
      response.writeHead(404, html).end('<html><body>404 Not Found</body></html>');
  }
}
