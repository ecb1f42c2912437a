-- Every client inserts numbered rows, one per transaction, and prints a line after each acknowledgement.
function thread_init()
   connection = sysbench.sql.driver():connect()
   number = 0
end

function event()
   number = number + 1
   connection:query(string.format("INSERT INTO commits VALUES (%d, %d)", sysbench.tid, number))
   io.write(string.format("ack %d %d\n", sysbench.tid, number))
   io.flush()
end

function thread_done()
   connection:disconnect()
end
