-- One of sysbench's scripts, FSTUI_WORKLOAD, in FSTUI_SCHEMAS schemas: each client works in one of them. With
-- FSTUI_SCHEMA, all of them in that one, which is made where it is missing. The first is that of the connection.
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
