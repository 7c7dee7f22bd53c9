// Zooms charts along x: dragging chooses a range, a double click shows all of it again. Buttons do the same, and the wheel
// with Ctrl; the wheel sideways moves the range.
"use strict";
(function () {
  var WIDTH = 1000, MOST_NAMES = 200, LEAST_NAME = 44, DEEPEST = 1e-5;

  function roundStep(raw) {
    var power = Math.pow(10, Math.floor(Math.log10(raw))), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  }

  // As dp_scale_label.
  function label(value, step) {
    var size = Math.abs(value);
    if (size >= 1e9 || (size > 0 && step < 1e-4)) return String(+value.toPrecision(6));
    if (step >= 1e5 || (size >= 1e6 && step >= 1e3)) return size > 0 ? +(value / 1e6).toPrecision(7) + "M" : "0";
    if (step >= 1e3 || (size >= 1e4 && step >= 1e2)) return size > 0 ? +(value / 1e3).toPrecision(7) + "k" : "0";
    return value.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  }

  function element(parent, name, style) {
    var made = document.createElement(name);
    if (style) made.className = style;
    parent.appendChild(made);
    return made;
  }

  function zoomable(plot) {
    var field = plot.querySelector(".field"), svg = field.querySelector("svg"), names = field.querySelector(".names");
    var axis = plot.querySelector(".x"), height = svg.viewBox.baseVal.height;
    var low = +plot.dataset.low, high = +plot.dataset.high, from = 0, to = 1, begun = null;

    function drawAxis() {
      var a = low + from * (high - low), b = low + to * (high - low);
      var step = roundStep((b - a) / Math.min(8, Math.max(2, field.clientWidth / 90)));
      axis.textContent = "";
      for (var n = 0, i = Math.ceil(a / step - 1e-6); n < 50 && i * step <= b + step * 1e-6; n++, i++) {
        var at = (i * step - a) / (b - a), tick = element(axis, "span", at > 0.985 ? "end" : "");
        tick.style.left = 100 * at + "%";
        tick.textContent = label(i * step, step);
      }
    }

    // Names of the slices that have room for them.
    function drawNames() {
      var width = field.clientWidth, shapes = svg.querySelectorAll("rect.slice"), count = 0;
      names.textContent = "";
      for (var i = 0; i < shapes.length && count < MOST_NAMES; i++) {
        var r = shapes[i], x = +r.getAttribute("x") / WIDTH, end = x + +r.getAttribute("width") / WIDTH;
        var left = (Math.max(x, from) - from) / (to - from), right = (Math.min(end, to) - from) / (to - from);
        if ((right - left) * width < LEAST_NAME) continue;
        var text = element(names, "span", "");
        text.style.left = 100 * left + "%";
        text.style.width = 100 * (right - left) + "%";
        text.style.top = 100 * (+r.getAttribute("y") / height) + "%";
        text.textContent = r.dataset.name;
        count++;
      }
    }

    function draw() {
      svg.setAttribute("viewBox", from * WIDTH + " 0 " + (to - from) * WIDTH + " " + height);
      plot.classList.toggle("zoomed", from > 0 || to < 1);
      drawAxis();
      drawNames();
    }

    function show(a, b) {
      var span = Math.min(1, Math.max(DEEPEST, b - a));
      from = Math.min(1 - span, Math.max(0, a));
      to = from + span;
      draw();
    }

    function scale(by, around) {
      var at = from + around * (to - from);
      show(at - (at - from) * by, at + (to - at) * by);
    }

    function place(event) {
      var box = field.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    }

    var tools = element(plot, "div", "tools");
    [["+", "closer", function () { scale(0.5, 0.5); }], ["\u2212", "farther", function () { scale(2, 0.5); }],
      ["all", "all of it", function () { show(0, 1); }]].forEach(function (tool) {
      var button = element(tools, "button", "");
      button.type = "button";
      button.textContent = tool[0];
      button.title = tool[1];
      button.addEventListener("click", tool[2]);
    });

    field.addEventListener("pointerdown", function (event) {
      if (event.button || event.pointerType === "touch") return;
      begun = place(event);
      field.setPointerCapture(event.pointerId);
    });
    field.addEventListener("pointermove", function (event) {
      if (begun === null) return;
      var now = place(event), pick = names.querySelector(".pick") || element(names, "span", "pick");
      pick.style.left = 100 * Math.min(begun, now) + "%";
      pick.style.width = 100 * Math.abs(now - begun) + "%";
    });
    function release(event) {
      if (begun === null) return;
      var a = Math.min(begun, place(event)), b = Math.max(begun, place(event)), span = to - from;
      begun = null;
      if (b - a > 0.005) show(from + a * span, from + b * span);
      else draw();
    }
    field.addEventListener("pointerup", release);
    field.addEventListener("pointercancel", release);
    field.addEventListener("dblclick", function () { show(0, 1); });
    field.addEventListener("wheel", function (event) {
      var sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
      if (event.ctrlKey) scale(event.deltaY > 0 ? 1.25 : 0.8, place(event));
      else if (sideways && to - from < 1) {
        var by = (sideways > 0 ? 0.1 : -0.1) * (to - from);
        show(from + by, to + by);
      } else return;
      event.preventDefault();
    }, { passive: false });
    window.addEventListener("resize", draw);
    draw();
  }

  document.querySelectorAll(".plot").forEach(zoomable);
})();
