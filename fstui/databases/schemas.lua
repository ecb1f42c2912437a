-- Runs sysbench's script FSTUI_WORKLOAD with its clients distributed among FSTUI_SCHEMAS schemas. With FSTUI_SCHEMA, all
-- clients use that schema, which is created if it does not exist. The first schema is that of the connection.
require(os.getenv("FSTUI_WORKLOAD"))
local schemas, single = tonumber(os.getenv("FSTUI_SCHEMAS")), tonumber(os.getenv("FSTUI_SCHEMA"))
local driver = sysbench.sql.driver

local function enter(connection, kind, number)
   local name = (kind == "mysql" and sysbench.opt.mysql_db or "fstui") .. "_" .. number
   local create, use = "CREATE DATABASE IF NOT EXISTS ", "USE "
   if kind ~= "mysql" then
      create, use = "CREATE SCHEMA IF NOT EXISTS ", "SET search_path TO "
   end
   if single then
      connection:query(create .. name)
   end
   connection:query(use .. name)
end

function sysbench.sql.driver(...)
   local original = driver(...)
   local wrapped = {}
   function wrapped:name()
      return original:name()
   end
   function wrapped:connect()
      local connection = original:connect()
      local number = single or (sysbench.tid % schemas + 1)
      if number > 1 then
         enter(connection, original:name(), number)
      end
      return connection
   end
   return wrapped
end
