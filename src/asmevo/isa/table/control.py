from asmevo.isa.row import Row

ROWS: tuple[Row, ...] = ()
