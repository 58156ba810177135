-- Reader of golden rows in VHDL-2008: the columns that a `.desc` file names, and the words of a `.mem` or `.tv` file. Textio only.
library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;

package emu_rows is
  constant MAX_COLUMNS : positive := 64;

  type column_t is record
    name   : string(1 to 32);     -- padded with spaces
    role   : character;           -- g guard, p pad, i in, r random operand, o out, s stage, m mask, k kind
    bits   : natural;
    digits : natural;
    lsb    : natural;             -- place in the word behind the guard
  end record;
  type columns_t is array (1 to MAX_COLUMNS) of column_t;

  type suite_t is record
    fine        : boolean;        -- false: no such file, or not a `.desc`
    stem        : string(1 to 192);
    stem_length : natural;
    sha256      : string(1 to 64);
    rows        : natural;
    count       : natural;        -- columns, without the guard
    width       : natural;        -- bits of a word behind the guard: four for each digit
    columns     : columns_t;
  end record;

  impure function read_desc(path : string) return suite_t;

  -- The place of a column; 0 where the suite has none of that name.
  function find_column(suite : suite_t; name : string) return natural;

  -- Bits of a column; 1 where the suite has none of that name, so that a port of it exists.
  function bits_of(suite : suite_t; name : string) return positive;

  -- The bits of a column in a word.
  function part(suite : suite_t; word : std_logic_vector; name : string) return std_logic_vector;

  -- Read one line: the guard, and the word behind it. fine: false for anything that is no word of these columns.
  procedure parse_word(suite : in suite_t; text : in string; guard : out character; word : out std_logic_vector; fine : out boolean);

  -- Bits in lower-case hex; x for a digit with an unknown bit.
  function hex(bits : std_logic_vector) return string;
end package;

package body emu_rows is
  -- The next word of a line, ended by a space or the end; empty at the end.
  procedure next_text(text : in string; at : inout positive; first, last : out natural) is
  begin
    while at <= text'high and text(at) = ' ' loop
      at := at + 1;
    end loop;
    first := at;
    while at <= text'high and text(at) /= ' ' loop
      at := at + 1;
    end loop;
    last := at - 1;
  end procedure;

  -- A decimal number of at most 9 digits; -1 for anything else.
  function number(text : string) return integer is
    variable value : natural := 0;
  begin
    if text'length = 0 or text'length > 9 then
      return -1;
    end if;
    for i in text'range loop
      if text(i) < '0' or text(i) > '9' then
        return -1;
      end if;
      value := 10 * value + character'pos(text(i)) - character'pos('0');
    end loop;
    return value;
  end function;

  -- One `col` line: col <name> <role> <bits> <hex digits> <format>
  procedure take_column(suite : inout suite_t; text : in string; at : inout positive) is
    variable first, last : natural;
    variable column      : column_t;
    variable bits, digits : integer;
  begin
    next_text(text, at, first, last);
    column.name := (others => ' ');
    suite.fine := suite.fine and last - first < 32 and last >= first and suite.count < MAX_COLUMNS;
    if not suite.fine then
      return;
    end if;
    column.name(1 to last - first + 1) := text(first to last);
    next_text(text, at, first, last);
    column.role := text(first);
    next_text(text, at, first, last);
    bits := number(text(first to last));
    next_text(text, at, first, last);
    digits := number(text(first to last));
    suite.fine := bits > 0 and digits = (bits + 3) / 4;
    if suite.fine and column.role /= 'g' then
      column.bits := bits;
      column.digits := digits;
      suite.count := suite.count + 1;
      suite.columns(suite.count) := column;
    end if;
  end procedure;

  impure function read_desc(path : string) return suite_t is
    file source          : text;
    variable status      : file_open_status;
    variable buf         : line;
    variable suite       : suite_t;
    variable first, last : natural;
    variable at          : positive;
  begin
    suite.fine := true;
    suite.stem_length := 0;
    suite.count := 0;
    suite.width := 4;
    suite.rows := 0;
    suite.sha256 := (others => '-');
    file_open(status, source, path, read_mode);
    if status /= open_ok then
      suite.fine := false;
      return suite;
    end if;
    while suite.fine and not endfile(source) loop
      readline(source, buf);
      at := 1;
      next_text(buf.all, at, first, last);
      if buf(first to last) = "col" then
        take_column(suite, buf.all, at);
      elsif buf(first to last) = "stem" then
        next_text(buf.all, at, first, last);
        suite.stem_length := last - first + 1;
        suite.stem(1 to suite.stem_length) := buf(first to last);
      elsif buf(first to last) = "rows" then
        next_text(buf.all, at, first, last);
        suite.fine := number(buf(first to last)) > 0;
        suite.rows := number(buf(first to last));
      elsif buf(first to last) = "rows_sha256" and buf'length = 76 then
        suite.sha256 := buf(13 to 76);
      else
        suite.fine := false;
      end if;
    end loop;
    file_close(source);
    suite.fine := suite.fine and suite.count > 1 and suite.rows > 0 and suite.stem_length > 0;
    suite.width := 0;
    for i in suite.count downto 1 loop
      suite.columns(i).lsb := suite.width;
      suite.width := suite.width + 4 * suite.columns(i).digits;
    end loop;
    return suite;
  end function;

  function find_column(suite : suite_t; name : string) return natural is
    variable padded : string(1 to 32) := (others => ' ');
  begin
    padded(1 to name'length) := name;
    for i in 1 to suite.count loop
      if suite.columns(i).name = padded then
        return i;
      end if;
    end loop;
    return 0;
  end function;

  function bits_of(suite : suite_t; name : string) return positive is
    constant place : natural := find_column(suite, name);
  begin
    if place = 0 then
      return 1;
    end if;
    return suite.columns(place).bits;
  end function;

  function part(suite : suite_t; word : std_logic_vector; name : string) return std_logic_vector is
    constant place : natural := find_column(suite, name);
    variable none  : std_logic_vector(0 downto 0) := "0";
  begin
    if place = 0 then
      return none;
    end if;
    return word(suite.columns(place).lsb + suite.columns(place).bits - 1 downto suite.columns(place).lsb);
  end function;

  -- The value of a hex digit in lower case; 16 for anything else.
  function digit(letter : character) return natural is
  begin
    case letter is
      when '0' to '9' => return character'pos(letter) - character'pos('0');
      when 'a' to 'f' => return character'pos(letter) - character'pos('a') + 10;
      when others => return 16;
    end case;
  end function;

  procedure parse_word(suite : in suite_t; text : in string; guard : out character; word : out std_logic_vector; fine : out boolean) is
    variable at     : positive := text'low + 1;
    variable gap    : character;
    variable value  : natural;
    variable top    : natural;
    variable result : std_logic_vector(suite.width - 1 downto 0) := (others => '0');
  begin
    fine := false;
    guard := ' ';
    word := result;
    if text'length < suite.width / 4 + suite.count + 1 or (text(text'low) /= 'a' and text(text'low) /= 'e') then
      return;
    end if;
    gap := text(at);
    for i in 1 to suite.count loop
      if text(at) /= gap or (gap /= '_' and gap /= ' ') then
        return;
      end if;
      at := at + 1;
      for d in suite.columns(i).digits - 1 downto 0 loop
        value := digit(text(at));
        top := suite.columns(i).bits - 4 * d;     -- bits of this digit that the column has; 4 and more: all
        if value > 15 or (text(text'low) = 'a' and top < 4 and value >= 2 ** top) then
          return;
        end if;
        for b in 0 to 3 loop
          if value / 2 ** b mod 2 = 1 then
            result(suite.columns(i).lsb + 4 * d + b) := '1';
          end if;
        end loop;
        at := at + 1;
      end loop;
    end loop;
    -- only a row of a .mem goes on, with ` // tc=`
    if at <= text'high then
      if gap /= '_' or text(text'low) = 'e' or text'high < at + 6 or text(at to at + 6) /= " // tc=" then
        return;
      end if;
    end if;
    guard := text(text'low);
    word := result;
    fine := true;
  end procedure;

  function hex(bits : std_logic_vector) return string is
    constant letters  : string(1 to 16) := "0123456789abcdef";
    variable padded   : std_logic_vector(4 * ((bits'length + 3) / 4) - 1 downto 0) := (others => '0');
    variable text     : string(1 to (bits'length + 3) / 4);
    variable value    : natural;
  begin
    padded(bits'length - 1 downto 0) := bits;
    for d in text'range loop
      value := 0;
      for b in 3 downto 0 loop
        case to_x01(padded(4 * (text'length - d) + b)) is
          when '1' => value := 2 * value + 1;
          when '0' => value := 2 * value;
          when others => value := 100;
        end case;
      end loop;
      if value > 15 then
        text(d) := 'x';
      else
        text(d) := letters(value + 1);
      end if;
    end loop;
    return text;
  end function;
end package body;
