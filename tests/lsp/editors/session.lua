-- A short session in Neovim without a screen; what it sees is printed line by line.
vim.o.swapfile = false
vim.cmd("edit order.workfile.yaml")
local buf = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({ cmd = { vim.env.WORKFILE_SERVER }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buf, id)

local function ask(method, line, character)
  local params = { textDocument = vim.lsp.util.make_text_document_params(buf), position = { line = line, character = character } }
  return vim.lsp.buf_request_sync(buf, method, params, 20000)[id].result
end

local function errors()
  return #vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })
end

local out = {}
vim.wait(20000, function() return errors() > 0 end, 20)
for _, each in ipairs(vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })) do
  table.insert(out, "error " .. each.code .. " " .. each.lnum .. ":" .. each.col)
end
table.insert(out, "hover " .. ask("textDocument/hover", 19, 12).contents.value:gsub("\n.*", ""))
local at = vim.api.nvim_buf_get_lines(buf, 25, 26, false)[1]:find("fund") - 1
vim.api.nvim_buf_set_text(buf, 25, at, 25, at + 4, { "" })
for _, item in ipairs(ask("textDocument/completion", 25, at).items) do
  table.insert(out, "item " .. item.label)
end
vim.api.nvim_buf_set_text(buf, 25, at, 25, at, { "found" })
vim.wait(20000, function() return errors() == 0 end, 20)
table.insert(out, "errors " .. errors())
io.stdout:write(table.concat(out, "\n") .. "\n")
vim.cmd("qa!")
