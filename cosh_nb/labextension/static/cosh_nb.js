/* cosh_nb in JupyterLab 4 and Notebook 7. Written by hand: a module-federation container, no bundler, no build step.

   1 the plugin       what the application loads
   2 outputs          keys, names and style of our own outputs
   3 notebooks        what a kernel may ask of the notebooks that are open in this page
   4 the bridge       requests come on the kernel's iopub, answers go back on its control channel

   There is no state to lose: a request names a page or asks all, and every page that has the kernel answers. The
   control channel is read by the kernel while a cell runs, and our answers are taken off it before the kernel itself
   looks (cosh_nb/notebook/bridge.py), so that no status message of theirs disturbs the page. */
(() => {
  'use strict';
  const NAME = 'cosh-nb';
  const VERSION = '0.1.0';
  const PROTOCOL = 1;
  const BRIDGE = 'cosh-nb-bridge';       // the comm id of requests and answers
  const PAGE = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
  const HERE = document.currentScript ? document.currentScript.src : '';
  let scope;

  // -- 1 the plugin ---------------------------------------------------------------------------------------------

  /** A module that the application already loaded. */
  const shared = async name => {
    const versions = scope[name], keys = Object.keys(versions);
    return (await versions[keys.find(key => versions[key].loaded) || keys[0]].get())();
  };

  (window._JUPYTERLAB ??= {})[NAME] = {
    init: given => { scope = given; },
    get: async () => {
      const { INotebookTracker, NotebookActions } = await shared('@jupyterlab/notebook');
      const plugin = {
        id: `${NAME}:plugin`,
        description: 'Live notebook edits for cosh_nb, keys and names in its cards',
        autoStart: true,
        requires: [INotebookTracker],
        activate: (app, tracker) => {
          loadStyle();
          const notebooks = openNotebooks(app, tracker, NotebookActions);
          const answer = bridge(app, notebooks);
          const add = panel => {
            watchOutputs(panel.node);
            panel.sessionContext.iopubMessage.connect((_, message) => answer(panel, message));
            panel.sessionContext.statusChanged.connect((_, status) => {
              if (/restarting|dead|terminating/.test(status)) endCards(panel.node);
            });
          };
          tracker.forEach(add);
          tracker.widgetAdded.connect((_, panel) => add(panel));
          document.addEventListener('keydown', onKey, true);
        }
      };
      return () => ({ __esModule: true, default: plugin });
    }
  };

  // -- 2 outputs ------------------------------------------------------------------------------------------------

  const OURS = '.cn, .cn-card, .cn-panel';
  const CONTROLS = 'button, input, textarea, select, summary, a[href], [tabindex]';

  /** Our classes are styled in a notebook that is not trusted, too: its own <style> is taken out there. */
  function loadStyle() {
    if (!HERE || document.getElementById(`${NAME}-style`)) return;
    const link = document.createElement('link');
    link.id = `${NAME}-style`;
    link.rel = 'stylesheet';
    link.href = new URL(`cosh_nb.css?v=${VERSION}`, HERE).href;
    document.head.appendChild(link);
  }

  /** Letters typed on a control must not reach the notebook: there they edit or delete the cell. */
  function stamp(root) {
    for (const control of root.matches(CONTROLS) ? [root, ...root.querySelectorAll(CONTROLS)] : root.querySelectorAll(CONTROLS)) {
      if (control.dataset.lmSuppressShortcuts === 'true') continue;
      control.dataset.lmSuppressShortcuts = 'true';
      requestAnimationFrame(() => nameIt(control));      // a widget gets its texts after it was attached
    }
  }

  function nameIt(control) {
    const labelled = [...control.labels || []].some(label => label.textContent.trim());
    if (labelled || control.getAttribute('aria-label') || control.getAttribute('aria-labelledby')) return;
    const said = /^(INPUT|TEXTAREA|SELECT)$/.test(control.tagName) ? '' : control.textContent.trim();
    const name = control.getAttribute('placeholder') || control.getAttribute('title');
    if (!said && name) control.setAttribute('aria-label', name);
  }

  /** Watch one notebook for outputs of ours; everything else costs one look per added element. */
  function watchOutputs(node) {
    const look = element => {
      if (element.nodeType !== Node.ELEMENT_NODE) return;
      if (element.closest(OURS)) { stamp(element); return; }
      if (!element.firstElementChild) return;
      for (const ours of element.querySelectorAll(OURS)) stamp(ours);
    };
    new MutationObserver(changes => {
      for (const change of changes) {
        if (change.type === 'attributes') {
          if (change.target.matches(OURS)) stamp(change.target);
        } else for (const added of change.addedNodes) look(added);
      }
    }).observe(node, { childList: true, subtree: true, attributes: true, attributeFilter: ['class'] });
    look(node);
  }

  /** The kernel that asked is gone: a card that nobody hears any more becomes one row. */
  function endCards(node) {
    for (const card of node.querySelectorAll('.cn-card')) {
      const row = document.createElement('div');
      row.className = 'cn';
      row.innerHTML = '<div class="row"><span class="g">⊘</span> <span class="v">Not answered</span> '
        + '<span class="r">the kernel was restarted before an answer</span></div>';
      card.replaceWith(row);
    }
  }

  /** Y and N answer the card that has the focus; what is typed into its fields stays there. */
  function onKey(event) {
    const card = event.target instanceof Element && event.target.closest('.cn-card');
    if (!card) return;
    if (event.target.matches('input:not([type=checkbox]):not([type=radio]), textarea, select')) {
      // The cell would run again.
      if (event.key === 'Enter' && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey)) event.stopPropagation();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const wanted = { y: '.cn-yes, button.mod-primary', n: '.cn-no, button.cn-quiet' }[event.key.toLowerCase()];
    const button = wanted && [...card.querySelectorAll(wanted)].find(found => !found.disabled && found.offsetParent);
    if (!button) return;
    event.preventDefault();
    event.stopPropagation();
    button.click();
  }

  // -- 3 notebooks ----------------------------------------------------------------------------------------------

  class Refused extends Error {
    constructor(kind, more) { super(kind); this.kind = kind; this.more = more; }
  }

  function openNotebooks(app, tracker, NotebookActions) {
    const shared = panel => panel.content.model.sharedModel;
    const ready = panel => !panel.isDisposed && panel.context.isReady && !!panel.content.model;
    const kernelOf = panel => panel.sessionContext.session?.kernel;

    /** The notebook that a request means: the one at `path`, else the one whose kernel asks. */
    const find = (panel, path) => {
      if (path === undefined || panel.context.path === path) {
        if (!ready(panel)) throw new Refused('not-open');
        return panel;
      }
      const other = tracker.find(found => ready(found) && found.context.path === path);
      if (!other) throw new Refused('not-open');
      return other;
    };

    const about = (panel, own) => ({
      path: panel.context.path, kernel: kernelOf(panel)?.id, own: panel === own, dirty: panel.context.model.dirty,
      readonly: panel.context.model.readOnly, cells: shared(panel).cells.length,
      collaborative: !!panel.context.model.collaborative, active: panel.content.activeCell?.model.id
    });

    const info = panel => {
      const all = [];
      tracker.forEach(found => { if (ready(found)) all.push(about(found, panel)); });
      const config = document.getElementById('jupyter-config-data')?.textContent;
      let root = '';
      try { root = JSON.parse(config || '{}').serverRoot || ''; } catch { /* another application's page */ }
      return {
        app: app.name, appVersion: app.version, version: VERSION, protocol: PROTOCOL, root, notebooks: all,
        focused: document.hasFocus(), visible: document.visibilityState === 'visible',
        shown: app.shell.currentWidget === panel, commands: Object.keys(ops)
      };
    };

    /** How much text a cell's outputs are, without copying them. */
    const weigh = model => {
      let total = 0;
      const outputs = model?.outputs;
      for (let at = 0; at < (outputs?.length ?? 0); at++) {
        const output = outputs.get(at);
        const data = output.data || {};
        for (const key of Object.keys(data)) {
          const value = data[key];
          total += typeof value === 'string' ? value.length : Array.isArray(value) ? value.join('').length : 64;
        }
      }
      return total;
    };

    const read = (panel, wanted) => {
      let room = wanted.room || 4_000_000;
      const ids = wanted.outputs === true ? null : new Set(wanted.outputs || []);
      return shared(panel).cells.map((cell, index) => {
        const found = { index, id: cell.id, type: cell.cell_type, source: cell.source };
        const mark = cell.getMetadata('cosh');
        if (mark !== undefined) found.cosh = mark;
        if (found.type !== 'code') return found;
        found.count = cell.execution_count;
        found.bytes = weigh(panel.content.model.cells.get(index));
        if (found.bytes && (!ids || ids.has(cell.id)) && found.bytes <= room) {
          found.outputs = cell.outputs;
          room -= found.bytes;
        }
        return found;
      });
    };

    const indexOf = (model, id) => model.cells.findIndex(cell => cell.id === id);
    const around = (model, at) => ({ before: model.cells[at - 1]?.id ?? null, after: model.cells[at + 1]?.id ?? null });

    /** Exchange only what differs, so that a cursor in the rest stays and undo takes back little. */
    const setSource = (cell, source) => {
      const old = cell.source;
      if (old === source) return;
      let head = 0, tail = 0;
      const most = Math.min(old.length, source.length);
      while (head < most && old[head] === source[head]) head++;
      while (tail < most - head && old[old.length - 1 - tail] === source[source.length - 1 - tail]) tail++;
      cell.updateSource(head, old.length - tail, source.slice(head, source.length - tail));
    };

    /** An edit of ours is an undo step of its own: it does not merge with what the person typed just before or after. */
    const apart = (panel, work) => {
      const managers = () => new Set([shared(panel).undoManager, ...shared(panel).cells.map(cell => cell.undoManager)]);
      const stop = () => { for (const manager of managers()) manager?.stopCapturing?.(); };
      stop();
      try { return work(); } finally { stop(); }
    };

    /** One step, done at once: nothing that the person types can come between its check and its change. */
    const step = (panel, edit, names) => {
      const model = shared(panel);
      const resolve = ref => {
        const id = names.has(ref) ? names.get(ref) : ref;
        const at = id === undefined ? -1 : indexOf(model, id);
        if (at < 0) throw new Refused('unknown', { ref, deleted: names.has(ref) });
        return at;
      };
      const place = () => {
        if (edit.after) return resolve(names.has(`after ${edit.after}`) && edit.mode === 'insert' ? `after ${edit.after}` : edit.after) + 1;
        return edit.before ? resolve(edit.before) : model.cells.length;
      };
      const report = (at, more) => ({
        index: at, id: model.cells[at].id, type: model.cells[at].cell_type, source: model.cells[at].source,
        count: model.cells.length, ...around(model, at), ...more
      });
      if (edit.mode === 'insert') {
        const type = edit.type || 'code', at = place();
        if (edit.magic && type === 'code') throw new Refused('magic');
        const done = indexOf(model, edit.id);
        if (done >= 0) return report(done, { old: '' });   // asked a second time, after the first answer was lost
        const cell = model.insertCell(at, { id: edit.id, cell_type: type, source: edit.source, metadata: edit.metadata || {} });
        if (edit.after) names.set(`after ${edit.after}`, cell.id);
        showText(panel, at, type);
        return report(at, { old: '' });
      }
      const at = resolve(edit.cell), cell = model.cells[at], old = cell.source;
      if (edit.expect !== undefined && old !== edit.expect && old !== edit.source && !names.has(`ours ${cell.id}`)) {
        throw new Refused('conflict', { index: at, id: cell.id, source: old });
      }
      if (edit.mode === 'delete') {
        const { id, cell_type: type } = cell;             // a deleted cell has forgotten them
        model.deleteCell(at);
        return {
          index: at, id, type, source: '', old, count: model.cells.length,
          before: model.cells[at - 1]?.id ?? null, after: model.cells[at]?.id ?? null
        };
      }
      if (edit.mode === 'move') {
        const target = place(), to = target > at ? target - 1 : target, id = cell.id;
        if (to !== at) model.moveCell(at, to);
        const found = indexOf(model, id);
        return report(found < 0 ? to : found, { old });
      }
      const type = edit.type || cell.cell_type, source = edit.source ?? old;
      if (edit.magic && type === 'code') throw new Refused('magic');
      if (type === cell.cell_type) {
        setSource(cell, source);
        for (const [key, value] of Object.entries(edit.metadata || {})) cell.setMetadata(key, value);
        names.set(`ours ${cell.id}`, cell.id);
        return report(at, { old });
      }
      const fresh = { cell_type: type, source, metadata: { ...cell.getMetadata(), ...edit.metadata } };
      const kept = type === 'code' ? undefined : cell.toJSON().attachments;
      if (kept) fresh.attachments = kept;
      const was = cell.id;
      model.transact(() => { model.deleteCell(at); model.insertCell(at, fresh); });
      names.set(was, model.cells[at].id);
      names.set(`ours ${model.cells[at].id}`, model.cells[at].id);
      showText(panel, at, type);
      return report(at, { old, was });
    };

    /** A person sees Markdown that was added as text, not as its source. */
    const showText = (panel, at, type) => {
      const widget = panel.content.widgets[at];
      if (type === 'markdown' && widget && 'rendered' in widget) widget.rendered = true;
    };

    const ops = {
      info,
      read: (panel, given) => {
        const found = find(panel, given.path);
        return { ...about(found, panel), metadata: found.content.model.toJSON().metadata, list: read(found, given) };
      },
      edit: (panel, given) => {
        const found = find(panel, given.path), model = shared(found);
        if (found.context.model.readOnly) throw new Refused('read-only');
        const ids = model.cells.map(cell => cell.id), names = new Map(ids.map((id, at) => [`cell-${at}`, id]));
        for (const id of ids) names.delete(id) && names.set(id, id);    // a real id that looks like a position
        const reports = given.steps.map(edit => {
          try { return { ok: true, ...apart(found, () => step(found, edit, names)) }; }
          catch (error) {
            if (!(error instanceof Refused)) return { ok: false, kind: 'failed', text: String(error?.message || error) };
            return { ok: false, kind: error.kind, ...error.more };
          }
        });
        return { ...about(found, panel), ids, reports };
      },
      outputs: (panel, given) => {
        const found = find(panel, given.path), model = shared(found), at = indexOf(model, given.cell);
        if (at < 0) throw new Refused('unknown', { ref: given.cell });
        const cell = model.cells[at];
        if (cell.cell_type !== 'code') throw new Refused('not-code');
        model.transact(() => {
          cell.setOutputs(given.outputs);
          cell.execution_count = given.count ?? null;
        }, false);
        return { index: at, id: cell.id };
      },
      run: async (panel, given) => {
        const found = find(panel, given.path), at = indexOf(shared(found), given.cell);
        if (at < 0) throw new Refused('unknown', { ref: given.cell });
        const widget = found.content.widgets[at];
        const ok = await NotebookActions.runCells(found.content, [widget], found.sessionContext);
        const cell = widget.model.sharedModel;
        return { ok, index: at, id: cell.id, count: cell.execution_count ?? null, outputs: cell.outputs || [] };
      },
      save: async (panel, given) => {
        const found = find(panel, given.path);
        await found.context.save();
        return about(found, panel);
      }
    };
    return { ops, info };
  }

  // -- 4 the bridge ---------------------------------------------------------------------------------------------

  const PART = 1_000_000;                // characters of one message: servers refuse web socket messages of 10 MB

  function bridge(app, { ops }) {
    let warned = false;

    const send = (kernel, data) => {
      const message = {
        channel: 'control', parent_header: {}, metadata: {}, buffers: [], content: { comm_id: BRIDGE, data },
        header: {
          msg_id: `${PAGE}-${Math.random().toString(36).slice(2)}`, msg_type: 'comm_msg', session: kernel.clientId,
          username: kernel.username, date: new Date().toISOString(), version: '5.3'
        }
      };
      // No reply will come, and nothing else would end the wait for one.
      kernel.sendControlMessage(message, false, true).dispose();
    };

    const reply = (kernel, id, answer) => {
      const text = JSON.stringify(answer), client = kernel.clientId, of = Math.ceil(text.length / PART);
      for (let part = 0; part < of; part++) {
        send(kernel, { id, client, page: PAGE, part, of, text: text.slice(part * PART, (part + 1) * PART) });
      }
    };

    /** The page is older or newer than the kernel's package: say so once. */
    const compare = request => {
      if (warned || !request.version || request.version === VERSION) return;
      warned = true;
      const message = `cosh_nb ${request.version} runs in the kernel, ${VERSION} in this page. Reload the page.`;
      if (app.commands.hasCommand('apputils:notify')) {
        void app.commands.execute('apputils:notify', { message, type: 'warning', options: { autoClose: 15000 } });
      } else console.warn(message);
    };

    const handle = async (panel, kernel, request) => {
      let answer;
      try {
        const op = Object.hasOwn(ops, request.op) ? ops[request.op] : undefined;
        if (!op) throw new Refused('unknown-op');
        answer = { ok: true, result: (await op(panel, request.args || {})) ?? null };
      } catch (error) {
        const known = error instanceof Refused;
        answer = { ok: false, kind: known ? error.kind : 'failed', text: String(error?.message || error), ...(known ? error.more : {}) };
      }
      if (!kernel.isDisposed) reply(kernel, request.id, answer);
    };

    return (panel, message) => {
      if (message.header.msg_type !== 'comm_msg' || message.content.comm_id !== BRIDGE) return;
      const kernel = panel.sessionContext.session?.kernel, request = message.content.data;
      if (!kernel || !request?.op || (request.to && request.to !== kernel.clientId)) return;
      compare(request);
      void handle(panel, kernel, request);   // nobody waits for it: the page goes on taking the kernel's messages
    };
  }
})();
