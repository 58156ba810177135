-- An example of bit-serial ports, in VHDL: a bf16 number comes bit after bit, the lowest first, start_i with the first; its E2M1 code leaves
-- bit after bit, the highest first, start_o with the first. To nearest, ties to the even code; NaN gives 7.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity bit_serial is
  port (
    clk_i   : in  std_logic;
    rst_ni  : in  std_logic;
    start_i : in  std_logic;
    bit_i   : in  std_logic;
    start_o : out std_logic;
    bit_o   : out std_logic
  );
end entity;

architecture rtl of bit_serial is
  signal word  : std_logic_vector(15 downto 0);
  signal count : unsigned(4 downto 0);
  signal code  : std_logic_vector(3 downto 0);
  signal starts : std_logic;

  function nearest (x : std_logic_vector(15 downto 0)) return std_logic_vector is
    variable size : unsigned(14 downto 0);
    variable low  : unsigned(2 downto 0);
  begin
    size := unsigned(x(14 downto 0));
    if    size > 16#40a0#  then low := "111";
    elsif size >= 16#4060# then low := "110";
    elsif size > 16#4020#  then low := "101";
    elsif size >= 16#3fe0# then low := "100";
    elsif size > 16#3fa0#  then low := "011";
    elsif size >= 16#3f40# then low := "010";
    elsif size > 16#3e80#  then low := "001";
    else low := "000";
    end if;
    if size > 16#7f80# then return "0111"; end if;
    return x(15) & std_logic_vector(low);
  end function;
begin
  bit_o <= code(3);
  start_o <= starts;
  process (clk_i)
    variable whole : std_logic_vector(15 downto 0);
  begin
    if rising_edge(clk_i) then
      starts <= '0';
      code <= code(2 downto 0) & '0';
      whole := bit_i & word(15 downto 1);
      if rst_ni = '0' then
        count <= (others => '0');
      elsif start_i = '1' or count /= 0 then
        word <= whole;
        if count = 15 then
          count <= (others => '0');
          code <= nearest(whole);
          starts <= '1';
        else
          count <= count + 1;
        end if;
      end if;
    end if;
  end process;
end architecture;
