// Icons of the screens, drawn with lines and circles.

import { drawing } from "./dom.js"

const paths = {
  now: "M3 12h4l3-8 4 16 3-8h4",
  follow: "M5 5v9a4 4 0 0 0 4 4h9m-4-4 4 4-4 4M5 5m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  devices: "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm3 15h2",
  playground: "M4 5h10M4 10h16M4 15h7m4 1 3 3 4-5",
  listeners: "M5 21V4a1 1 0 0 1 1-1h12a1 1 0 0 1 1 1v17M3 21h18m-6-9v1",
  access: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-8 9a8 8 0 0 1 16 0",
}

export const icon = name => drawing("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" }, drawing("path", { d: paths[name] }))
