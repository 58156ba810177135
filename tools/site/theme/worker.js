// Browsers refuse workers to pages that were opened from a file. The search runs its worker in a hidden frame there instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      const address = new URL(url, location.href).href.replace(/"/g, "%22");
      this.waiting = [];
      frame.hidden = true;
      frame.title = "search";
      frame.addEventListener("load", () => {
        this.scope = frame.contentWindow;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
      frame.srcdoc = `<script>self.postMessage = data => parent.dispatchEvent(new CustomEvent("frame-worker", {detail: {scope: self, data}}));</scr` + `ipt><script src="${address}"></scr` + "ipt>";
      this.hear = event => { if (event.detail.scope === frame.contentWindow && this.onmessage) this.onmessage({data: structuredClone(event.detail.data)}); };
      addEventListener("frame-worker", this.hear);
      this.frame = frame;
      document.body.append(frame);
    }
    postMessage(data) {
      if (!this.scope) this.waiting.push(data);
      else this.scope.dispatchEvent(new this.scope.MessageEvent("message", {data: structuredClone(data)}));
    }
    terminate() {
      removeEventListener("frame-worker", this.hear);
      this.frame.remove();
    }
  };
}
