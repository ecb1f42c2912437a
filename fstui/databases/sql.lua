-- Runs SQL statements and prints every row of the results with its fields separated by tabs.
local function run(connection, statement)
   local result = connection:query(statement)
   -- results of other statements have no rows, and their fields are undefined
   local has_rows = result and (statement:find("^SELECT") or statement:find("^SHOW"))
   for _ = 1, has_rows and tonumber(result.nrows) or 0 do
      local row = result:fetch_row()
      local fields = {"row"}
      for number = 1, result.nfields do
         fields[number + 1] = row[number] or ""
      end
      print(table.concat(fields, "\t"))
   end
end

sysbench.cmdline.commands = {
   -- the statements in FSTUI_SQL, one per line
   query = {function ()
      local connection = sysbench.sql.driver():connect()
      for statement in os.getenv("FSTUI_SQL"):gmatch("[^\n]+") do
         run(connection, statement)
      end
      connection:disconnect()
   end},
   -- each line of stdin is a statement, and "done" follows its rows
   session = {function ()
      local connection = sysbench.sql.driver():connect()
      for statement in io.lines() do
         run(connection, statement)
         print("done")
         io.flush()
      end
   end}
}
