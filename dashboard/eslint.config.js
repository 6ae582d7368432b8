import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["built/", "node_modules/", "src/api/schema.d.ts"] },
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "no-restricted-globals": ["error", { name: "fetch", message: "Use src/api/client.ts." }],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Show text as text." },
        { selector: "JSXAttribute[name.name='style']", message: "Write a class in src/styles." },
      ],
    },
  },
  { files: ["src/api/transport.ts"], rules: { "no-restricted-globals": "off" } },
);
