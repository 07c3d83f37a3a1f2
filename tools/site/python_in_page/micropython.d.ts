// What worker.js uses of MicroPython, for tsc alone: the package brings no types.
export function loadMicroPython(options: {
  url: string;
  heapsize: number;
  linebuffer: boolean;
  stdout(line: string): void;
}): Promise<{
  FS: { mkdirTree(path: string): void; writeFile(path: string, text: string): void };
  globals: { get(name: string): string; set(name: string, value: string): void };
  runPython(code: string): void;
}>;
