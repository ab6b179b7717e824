module github.com/rxpost/rxpost

go 1.26.8
