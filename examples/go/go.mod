module example/adapter

go 1.19
