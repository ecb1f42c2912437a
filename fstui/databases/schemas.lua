-- Runs sysbench's script FSTUI_WORKLOAD with its clients distributed among FSTUI_SCHEMAS schemas. With FSTUI_SCHEMA, all
-- clients use that schema, which is made if it does not exist. The first schema is that of the connection.
require(os.getenv("FSTUI_WORKLOAD"))
local schemas, only = tonumber(os.getenv("FSTUI_SCHEMAS")), tonumber(os.getenv("FSTUI_SCHEMA"))
local driver = sysbench.sql.driver

local function enter(connection, kind, number)
   local name = (kind == "mysql" and sysbench.opt.mysql_db or "fstui") .. "_" .. number
   local making, entering = "CREATE DATABASE IF NOT EXISTS ", "USE "
   if kind ~= "mysql" then
      making, entering = "CREATE SCHEMA IF NOT EXISTS ", "SET search_path TO "
   end
   if only then
      connection:query(making .. name)
   end
   connection:query(entering .. name)
end

function sysbench.sql.driver(...)
   local found = driver(...)
   local wrapped = {}
   function wrapped:name()
      return found:name()
   end
   function wrapped:connect()
      local connection = found:connect()
      local number = only or (sysbench.tid % schemas + 1)
      if number > 1 then
         enter(connection, found:name(), number)
      end
      return connection
   end
   return wrapped
end
