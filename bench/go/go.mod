module sisal-bench-go

go 1.19
