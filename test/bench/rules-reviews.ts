/** What other products ask the API server, beside the RBAC index; see `programs/rules-reviews.ts`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { program } from './processes.ts';

export async function measureRulesReviews(): Promise<object> {
  const { stdout } = await promisify(execFile)(process.execPath, [program('rules-reviews')]);
  return JSON.parse(stdout);
}
