import { onContentUpdated } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

export default {
  ...DefaultTheme,
  setup() {
    // The theme's home page is the one without a landmark for those who jump to the content.
    onContentUpdated(() => document.querySelector(".VPHome")?.setAttribute("role", "main"));
  },
};
