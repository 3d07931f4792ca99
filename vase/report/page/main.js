// The page of one file: its data are in it, and its decoder runs in it.

import { PagePainter } from "vase/page-painter.js";
import { report } from "vase/report.js";

const data = JSON.parse(document.getElementById("data").textContent);
report(data, data.live && new PagePainter(data.live.decoder));
